"""A handler: what its signature asks for, and calling it.

    async def note(delay: Delay) -> None                      a pydantic model, from JSON
    async def note(delay: Delay, delivery: Delivery) -> None  and the message around it
    def note(body: bytes) -> None                             a plain function: in a worker thread

A first parameter without annotation, or annotated :class:`~mqkit.message.Delivery`, gets the
delivery; ``bytes`` the body as it is; ``str`` the body as UTF-8; any other type is what pydantic
makes of the body as JSON. A handler that settles its messages itself has a ``ManualDelivery`` in
place of the ``Delivery``. Arguments whose default is :func:`mqkit.depends` get resources; others
with a default are left alone.

A method is registered as the bound method of an object: ``app.consumer("orders")(desk.handle)``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol, TypeAlias, get_type_hints

import anyio
from anyio import CapacityLimiter

from mqkit.consumer.acks.manual_delivery import ManualDelivery
from mqkit.errors import ConfigurationError, DeadlineExceeded, MqkitError
from mqkit.incoming import decoder_of
from mqkit.message import Delivery
from mqkit.resources import AppResources, CallResources, Plan
from mqkit.timing.app_clock import OF_CONSUMER, AppClock

HandlerFunction: TypeAlias = Callable[..., object]
"""``async def``, or a plain function."""
MessageFunction: TypeAlias = (
    Callable[[Any], object]
    | Callable[[Any, Delivery], object]
    | Callable[[Any, ManualDelivery], object]
)
"""A function that handles one message, for type checkers."""


class HandlerTimeout(DeadlineExceeded):
    """A handler was cancelled because it took longer than its timeout. Counts as a failure."""


class HandlerCancelled(MqkitError):
    """A handler ended with a ``CancelledError`` that was not meant for it: something that it waited
    for was cancelled. Counts as a failure like any other."""


class HandlerExit(BaseException):
    """A handler raised ``SystemExit`` or ``KeyboardInterrupt``, which is the cause of this one.

    Raised in a task, those two stop the event loop where it stands. This one ends the consumers
    first, and ``async with app`` raises the cause.
    """


class AnyHandler(Protocol):
    """A handler of messages, as a consumer calls it."""

    @property
    def name(self) -> str:
        """The function's name, for logs and metrics."""
        ...

    @property
    def timeout_s(self) -> float | None:
        """The time that a call may take."""
        ...

    @property
    def takes_delivery(self) -> bool:
        """True if the function sees the delivery, and not only what is made of its body."""
        ...

    @property
    def arguments(self) -> Callable[[Delivery], tuple[Any, ...]]:
        """Makes the arguments to call it with; raises :exc:`~mqkit.incoming.BodyMisfit`."""
        ...

    async def __call__(self, *arguments: Any) -> object:
        """Call it; returns what it returned, and raises what it raised."""
        ...


WrapHandler: TypeAlias = Callable[[AnyHandler], AnyHandler]
"""Makes a handler that calls another one."""


class Handler:
    """Raises :exc:`~mqkit.errors.ConfigurationError` for a signature that can't be served.

    ``threads`` is how many calls of a plain function may run at once; ``resources`` are those of
    the app, for a function with arguments by :func:`~mqkit.depends`.
    """

    is_of_one_message = False

    def __init__(
        self,
        function: HandlerFunction,
        *,
        timeout_s: float | None = None,
        threads: int = 1,
        resources: AppResources | None = None,
    ) -> None:
        self.name = getattr(function, "__qualname__", type(function).__qualname__)
        _check_callable(function, self.name)
        self._function = function
        self.timeout_s = timeout_s
        self._threads = threads
        self._limiter: CapacityLimiter | None = None
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
        )
        """False for a plain function, which runs in a worker thread."""
        self._run: Callable[[tuple[object, ...]], Awaitable[object]] = self._call
        self._resources: CallResources | None = None
        plan = Plan.read(function, self.name, has_delivery=self.is_of_one_message)
        if not plan.is_empty:
            if resources is None:
                raise ConfigurationError(
                    f"{self.name} has arguments by depends(): handlers can, and this can't"
                )
            self._resources = CallResources(plan, resources)
            self._run = self._call_with_resources

    async def __call__(self, *arguments: object) -> object:
        """Call it and wait for its end; returns what it returned, and raises what it raised.

        Raises :exc:`HandlerTimeout` when it was cancelled for its timeout. A plain function can't
        be cancelled: its thread goes on, and keeps its place among the threads.
        """
        if self.timeout_s is None:
            return await self._guarded(arguments)
        if (clock := OF_CONSUMER.get()) is not None:
            return await self._limited_by(clock, self.timeout_s, arguments)
        with anyio.move_on_after(self.timeout_s):
            return await self._guarded(arguments)
        raise HandlerTimeout(f"the handler took longer than {self.timeout_s:g} s")

    async def _limited_by(
        self, clock: AppClock, timeout_s: float, arguments: tuple[object, ...]
    ) -> object:
        """Call it within ``timeout_s`` by a clock that a test moves."""
        try:
            async with clock.limit(timeout_s):
                try:
                    return await self._guarded(arguments)
                except TimeoutError as error:  # the handler's own
                    raised = error
        except TimeoutError:
            raise HandlerTimeout(f"the handler took longer than {timeout_s:g} s") from None
        raise raised

    async def _guarded(self, arguments: tuple[object, ...]) -> object:
        """Call it; what would be mistaken for the end of this task or program is made an error."""
        try:
            return await self._run(arguments)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and not task.cancelling():
                raise HandlerCancelled("what the handler waited for was cancelled") from error
            raise
        except (SystemExit, KeyboardInterrupt) as error:
            raise HandlerExit from error

    async def _call(self, arguments: tuple[object, ...]) -> object:
        if self.is_async:
            result = self._function(*arguments)
        else:
            result = await self._in_thread(partial(self._function, *arguments))
        return await result if inspect.isawaitable(result) else result

    async def _call_with_resources(self, arguments: tuple[object, ...]) -> object:
        assert self._resources is not None
        own, delivery = self._split(arguments)

        async def call(resources: dict[str, Any]) -> object:
            bound = partial(self._function, *own, **resources)
            result = bound() if self.is_async else await self._in_thread(bound)
            return await result if inspect.isawaitable(result) else result

        return await self._resources.around(call, delivery)

    def _split(self, arguments: tuple[object, ...]) -> tuple[tuple[object, ...], Delivery | None]:
        """The function's arguments, and the delivery that its resources may take."""
        return arguments, None

    async def _in_thread(self, call: Callable[[], object]) -> object:
        if self._limiter is None:
            self._limiter = CapacityLimiter(self._threads)
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._limiter)


class MessageHandler(Handler):
    """A handler of one message at a time. ``settles_itself``: it takes a ``ManualDelivery``."""

    is_of_one_message = True

    def __init__(
        self,
        function: HandlerFunction,
        *,
        timeout_s: float | None = None,
        threads: int = 1,
        settles_itself: bool = False,
        resources: AppResources | None = None,
    ) -> None:
        super().__init__(function, timeout_s=timeout_s, threads=threads, resources=resources)
        kind = ManualDelivery if settles_itself else Delivery
        annotations = annotations_of(function, self.name, kind)
        if not 1 <= len(annotations) <= 2:
            raise ConfigurationError(
                f"the handler {self.name} takes {len(annotations)} arguments; a handler takes the"
                f" message, and if it likes the {kind.__name__}"
            )
        self._check_manual(annotations, settles_itself)
        if len(annotations) == 2 and annotations[1] is not kind:
            raise ConfigurationError(
                f"the second argument of the handler {self.name} must be annotated {kind.__name__}"
            )
        self._decode = decoder_of(annotations[0], f"the handler {self.name}")
        self.asks_for = annotations[0]
        """The type of the first argument."""
        self._has_delivery = len(annotations) == 2
        # Resources may take the delivery, also where the function does not.
        self._wants_delivery = self._has_delivery or self._resources is not None
        self.takes_delivery = self._wants_delivery or annotations[0] is kind
        """True if the function sees the delivery, and not only what is made of its body."""

    def _check_manual(self, annotations: list[Any], settles_itself: bool) -> None:
        if not settles_itself:
            if ManualDelivery in annotations:
                raise ConfigurationError(
                    f"the handler {self.name} takes a ManualDelivery, by which it settles its"
                    ' message itself: register it with ack="manual"'
                )
        elif annotations[-1] is not ManualDelivery:
            raise ConfigurationError(
                f'with ack="manual" the handler {self.name} settles its message itself: its last'
                " argument must be annotated ManualDelivery"
            )
        elif not self.is_async:
            raise ConfigurationError(
                f'with ack="manual" the handler {self.name} must be an async def: what a'
                " ManualDelivery does is awaited"
            )

    def arguments(self, delivery: Delivery) -> tuple[object, ...]:
        """The arguments to call the handler with. Raises :exc:`~mqkit.incoming.BodyMisfit`."""
        content = self._decode(delivery)
        return (content, delivery) if self._wants_delivery else (content,)

    def _split(self, arguments: tuple[object, ...]) -> tuple[tuple[object, ...], Delivery | None]:
        content, delivery = arguments
        assert isinstance(delivery, Delivery)
        return (arguments if self._has_delivery else (content,)), delivery


def _check_callable(function: object, name: str) -> None:
    if not callable(function):
        raise ConfigurationError(f"a handler is a function, not {function!r}")
    for called in (function, getattr(function, "__call__", None)):  # noqa: B004 - as above
        if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
            raise ConfigurationError(
                f"the handler {name} has a yield in it: calling it would run nothing, and its"
                " messages would be acked unread"
            )


def annotations_of(
    function: HandlerFunction, name: str, otherwise: type[Delivery] = Delivery
) -> list[Any]:
    """The types of the positional parameters that have no default; ``otherwise`` where none is
    said."""
    target: Any = function
    if not (inspect.isroutine(target) or isinstance(target, partial)):
        target = target.__call__
    hinted = target.func if isinstance(target, partial) else target
    try:
        hints = get_type_hints(hinted)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise ConfigurationError(
            f"an annotation of the handler {name} can't be resolved: {error}"
            " (types of handlers are defined at the top of a module)"
        ) from None
    required = [
        parameter
        for parameter in inspect.signature(target).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    for parameter in required:
        if parameter.kind is parameter.KEYWORD_ONLY:
            raise ConfigurationError(
                f"the handler {name} must be given {parameter.name!r} by keyword, and nobody does:"
                " a handler is called with positions only"
            )
    if inspect.isfunction(target) and required and required[0].name == "self":
        raise ConfigurationError(
            f"the handler {name} is a method without its object: register the method of an object,"
            f' app.consumer("queue")(obj.{target.__name__})'
        )
    return [hints.get(parameter.name, otherwise) for parameter in required]
