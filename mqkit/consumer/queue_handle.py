"""``QueueHandle``: what an app has for one queue. Its consumers, paused, resumed, removed together;
handlers of one type of message, which share one consumer; hooks for what fails.

    orders = app.queue("orders", concurrency=8)

    @orders.on(OrderPaid)
    async def paid(order: OrderPaid) -> None: ...

    @orders.on_park
    async def failed(delivery: Delivery, error: BaseException) -> None: ...

A handle lives as long as its app, and so do the consumers that are registered on it; each time that
the app is entered, a client makes them anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar, cast, overload

from mqkit.consumer.acks.consumers import consumer_of
from mqkit.consumer.acks.inbox import AnyInbox
from mqkit.consumer.acks.mode import AckMode
from mqkit.consumer.breaker.states import State as CircuitState
from mqkit.consumer.by_type import HandlersByType
from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.consumer_states import State
from mqkit.consumer.depth import DEADLINE_S, QueueDepth
from mqkit.consumer.handler import AnyHandler, HandlerFunction, MessageHandler, WrapHandler
from mqkit.consumer.handling_options import HandlingOptions
from mqkit.consumer.hooks import Fate, HookFunction, Hooks
from mqkit.consumer.observing.attempts import AroundAttempts
from mqkit.consumer.observing.measure import Measure
from mqkit.consumer.observing.observer import ConsumerObserver
from mqkit.consumer.rate.pace import Pace
from mqkit.consumer.rate.rate import Rate
from mqkit.consumer.settlement_steps import Settler
from mqkit.consumer.stats import Stats
from mqkit.consumer.subscription import Link
from mqkit.errors import Closed, ConfigurationError
from mqkit.message import Delivery
from mqkit.resources import AppResources
from mqkit.timing.app_clock import Working
from mqkit.timing.seconds import Span, seconds
from mqkit.topology.model import Topology
from mqkit.topology.temporary import Temporary
from mqkit.transport.seam import Connection

ModelT = TypeVar("ModelT")
ResultT = TypeVar("ResultT")
HookT = TypeVar("HookT", bound=HookFunction)


class RegisterTyped(Protocol[ModelT]):
    """A decorator of functions that handle a ``ModelT``."""

    @overload
    def __call__(self, function: Callable[[ModelT], ResultT]) -> Callable[[ModelT], ResultT]: ...

    @overload
    def __call__(
        self, function: Callable[[ModelT, Delivery], ResultT]
    ) -> Callable[[ModelT, Delivery], ResultT]: ...


class AnyConsumer(Working, Protocol):
    """A consumer of either kind."""

    @property
    def queue(self) -> str: ...
    @property
    def handler_name(self) -> str: ...
    @property
    def stats(self) -> Stats: ...
    @property
    def prefetch(self) -> int: ...
    @property
    def state(self) -> State: ...
    @property
    def circuit_state(self) -> CircuitState: ...
    @property
    def patience_s(self) -> float: ...
    def observe(self, observer: ConsumerObserver) -> None: ...
    def measure(self, measure: Measure) -> None: ...
    async def run(self) -> None: ...
    def limit(self, pace: Pace) -> None: ...
    def surround(self, wrap: WrapHandler) -> None: ...
    def surround_attempts(self, around: AroundAttempts) -> None: ...
    async def subscribe(self, connection: Connection) -> None: ...
    def hold(self) -> None: ...
    async def pause(self) -> None: ...
    async def resume(self) -> None: ...
    async def stop(self) -> None: ...
    async def close(self) -> None: ...


MakeConsumer: TypeAlias = Callable[[Settler, Link], AnyConsumer]
"""Makes a consumer that belongs to one client."""


class Host(Protocol):
    """The client, as far as a handle needs it."""

    def start(self, queue: QueueHandle, make: MakeConsumer) -> AnyConsumer:
        """Make a consumer and run it: now if the client runs, else as soon as it does."""
        ...

    async def end(self, consumer: AnyConsumer) -> None:
        """Stop the consumer, and let go of it."""
        ...

    async def forget(self, temporary: Temporary) -> None:
        """Delete the queue, which has no consumers any more."""
        ...

    async def depth(self, queue: str, deadline_s: float) -> QueueDepth:
        """Ask the broker for it."""
        ...


class QueueHandle:
    """The consumers of one queue, in one app. ``app.queue(name)`` gives the same handle everywhere.

    ``temporary`` is the queue itself where it is one for this process alone; ``resources`` and
    ``topology`` are the app's.
    """

    def __init__(
        self,
        name: str,
        temporary: Temporary | None = None,
        resources: AppResources | None = None,
        topology: Topology | None = None,
    ) -> None:
        self.name = name
        self.temporary = temporary
        self.hooks = Hooks(name)
        self.pace: Pace | None = None
        """The pace at which all its consumers together begin handlers; ``None`` is any."""
        self._resources = resources
        self._topology = topology
        self._handling = HandlingOptions()
        self._field: str | None = None
        self._inbox: AnyInbox | None = None
        self._by_type: HandlersByType | None = None
        self._makers: list[MakeConsumer] = []
        self._consumers: list[AnyConsumer] = []
        self._host: Host | None = None
        self._is_paused = False

    def __repr__(self) -> str:
        return f"QueueHandle({self.name!r}, {'paused' if self._is_paused else 'consuming'})"

    @property
    def is_paused(self) -> bool:
        """True from :meth:`pause` to :meth:`resume`."""
        return self._is_paused

    async def pause(self) -> None:
        """Stop consuming until :meth:`resume`, through reconnects, and when the app is entered
        again.

        The consumers are cancelled at the broker, and messages that no handler has begun go back to
        their queue. Handlers that run go on, and their messages are settled; this does not wait for
        them. A batch of which some has arrived is handled when its time has come. A queue is paused
        before the app is entered, too. Idempotent.
        """
        self._is_paused = True
        await asyncio.gather(*(consumer.pause() for consumer in self._consumers))

    async def resume(self) -> None:
        """Consume again: at once, or as soon as there is a connection. Idempotent.

        A queue that can't be consumed (somebody deleted it) is logged, and tried again.
        """
        self._is_paused = False
        await asyncio.gather(*(consumer.resume() for consumer in self._consumers))

    async def remove(self) -> None:
        """Stop consuming for good: return when the handlers that run are done, and settled.
        Consumers that are registered afterwards are consumers like any others. Idempotent.

        Not to be called by a handler of this queue, which it would wait for; one that wants an end
        starts a task for it.
        """
        self._makers.clear()
        self._by_type = None
        consumers, self._consumers = self._consumers, []
        host = self._host
        if host is not None:
            await asyncio.gather(*(host.end(consumer) for consumer in consumers))
            if self.temporary is not None and consumers:
                await host.forget(self.temporary)

    async def stats(self, *, deadline: Span = DEADLINE_S) -> QueueDepth:
        """The messages that are ready in the queue, and its consumers, as the broker has them now;
        over AMQP, by a passive declare on a channel of its own.

        It does nothing to messages. A queue with ``expires`` counts as used. Raises
        :exc:`~mqkit.errors.ChannelError` (404) where there is no such queue;
        :exc:`~mqkit.errors.DeadlineExceeded` after ``deadline``, which is for waiting for a
        connection, too; :exc:`~mqkit.errors.Closed` in an app that is not running.
        """
        if self._host is None:
            raise Closed("the app is not running: use it inside of `async with app`")
        return await self._host.depth(self.name, seconds(deadline, "deadline"))

    def on(self, model: type[ModelT], *, name: str | None = None) -> RegisterTyped[ModelT]:
        """Register the decorated function for messages of one type: those whose ``type`` property,
        or the field of the body that ``app.queue(by=)`` names, is ``name``, or else the name of
        ``model``. :meth:`mqkit.App.to` with the model sets it.

        All such functions of a queue share one consumer. A message that fits none is parked with
        the reason "no handler". Raises :exc:`~mqkit.errors.ConfigurationError` for a second
        function of a type, for one whose first argument is not annotated ``model``, and where the
        queue has a consumer for all its messages.
        """
        if not isinstance(model, type):
            raise ConfigurationError(f"on({model!r}): expected a class, the type of the messages")

        def register(function: HandlerFunction) -> Any:
            options = self._handling
            handler = MessageHandler(
                function,
                timeout_s=options.timeout_s,
                threads=options.concurrency,
                resources=self._resources,
            )
            if handler.asks_for is not model:
                raise ConfigurationError(
                    f"the handler {handler.name} gets messages of {model.__name__}: annotate its"
                    " first argument so"
                )
            called: AnyHandler = handler
            if self._inbox is not None:
                called = self._inbox.around(handler, self.name, self._topology)
            self._typed_handlers().add(name or model.__name__, called)
            return function

        return cast("RegisterTyped[ModelT]", register)

    def on_retry(self, hook: HookT) -> HookT:
        """Register ``hook(delivery, error)``: awaited before a message that failed is retried.

        A hook that raises has the delivery given back after a pause, and may be told again. Raises
        :exc:`~mqkit.errors.ConfigurationError` for a second one.
        """
        self.hooks.set(Fate.RETRY, hook)
        return hook

    def on_park(self, hook: HookT) -> HookT:
        """Register ``hook(delivery, error)``: awaited before a message is parked, or rejected to
        the queue's own dead-letter exchange. As :meth:`on_retry`."""
        self.hooks.set(Fate.PARK, hook)
        return hook

    def on_drop(self, hook: HookT) -> HookT:
        """Register ``hook(delivery, error)``: awaited before a message that failed is acked and
        gone. As :meth:`on_retry`."""
        self.hooks.set(Fate.DROP, hook)
        return hook

    def limit(self, rate: str) -> None:
        """Begin handlers at this rate: see :meth:`mqkit.App.queue`. Raises
        :exc:`~mqkit.errors.ConfigurationError` for text that is no rate, for another rate than
        before, and once consumers run."""
        wanted = Rate.parse(rate)
        if self.pace is not None:
            if self.pace.rate != wanted:
                raise ConfigurationError(
                    f"rate={rate!r}: the rate of {self.name} is {self.pace.rate} already"
                )
        elif self._consumers:
            raise ConfigurationError(
                f"rate={rate!r}: the consumers of {self.name} run already; give the rate before"
            )
        else:
            self.pace = Pace(wanted)

    def handle_by_type(
        self, options: HandlingOptions, field: str | None, inbox: AnyInbox | None = None
    ) -> None:
        """Have the handlers of types called by these options: see :meth:`mqkit.App.queue`. Raises
        :exc:`~mqkit.errors.ConfigurationError` once there is such a handler."""
        before = (self._handling, self._field, self._inbox)
        if self._by_type is not None and (options, field, inbox) != before:
            raise ConfigurationError(
                f"{self.name} has handlers already: give the options of app.queue() before them"
            )
        self._handling, self._field, self._inbox = options, field, inbox

    def add(self, make: MakeConsumer) -> None:
        """Register a consumer of all messages. In an app that is running it starts at once. Raises
        :exc:`~mqkit.errors.ConfigurationError` where types have handlers of their own."""
        if self._by_type is not None:
            raise ConfigurationError(
                f"{self.name} has handlers by type: a consumer beside them would get some of their"
                " messages"
            )
        self._add(make)

    def _typed_handlers(self) -> HandlersByType:
        if self._by_type is not None:
            return self._by_type
        if self._makers:
            raise ConfigurationError(
                f"{self.name} has a consumer already, which would get some of the messages"
            )
        options = self._handling
        handlers = HandlersByType(self.name, self._field, options.timeout_s)
        self._by_type = handlers
        new_consumer = consumer_of(AckMode.AFTER, options.partition_by)
        self._add(
            lambda settler, link: new_consumer(
                self.name,
                handlers,
                settler,
                link,
                options=ConsumeOptions(options.prefetch),
                concurrency=options.concurrency,
            )
        )
        return handlers

    def _add(self, make: MakeConsumer) -> None:
        self._makers.append(make)
        if self._host is not None:
            self._consumers.append(self._host.start(self, make))

    def attach(self, host: Host) -> None:
        """Have ``host`` make and run the consumers. Raises
        :exc:`~mqkit.errors.ConfigurationError` if another one does."""
        if self._host is not None:
            raise ConfigurationError(f"the consumers of {self.name} run already")
        self._consumers = [host.start(self, make) for make in self._makers]
        self._host = host

    def detach(self) -> None:
        """The client has ended, and its consumers with it."""
        self._host = None
        self._consumers = []
