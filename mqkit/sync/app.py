"""The application of synchronous code: the names and outcomes of :class:`mqkit.App`, without
``await``.

This file only wires. Publishing is over a blocking connection of its own; consumers run by the
machinery of :class:`mqkit.App`, in whose threads the handlers are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack, overload
from weakref import finalize

from mqkit.app_arguments import TopologyFiles, check_vhost, chosen_settings, loaded_topology
from mqkit.declaration import Declaration
from mqkit.delay import delayed
from mqkit.errors import ConfigurationError
from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.pool.terms import WhenBlocked
from mqkit.publishing.message_options import MessageOptions, with_options
from mqkit.publishing.outgoing import outgoing
from mqkit.sync.around import PublishMiddleware
from mqkit.sync.caller import Caller
from mqkit.sync.link import Link
from mqkit.sync.plain import check_plain
from mqkit.sync.process import OwnPublisher
from mqkit.sync.publisher import Publisher
from mqkit.sync.target import Target
from mqkit.timing.seconds import Span, seconds, seconds_or_none
from mqkit.topology import Temporary, Topology, compile_topology
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.transport.window_size import WindowSize

if TYPE_CHECKING:
    import mqkit
    from mqkit.consumer import BatchFunction, MessageFunction, QueueHandle
    from mqkit.consumer.acks.inbox import AnyInbox
    from mqkit.consumer.partitions.key import PartitionBy
    from mqkit.settings import Settings

FunctionT = TypeVar("FunctionT", bound="MessageFunction")
BatchFunctionT = TypeVar("BatchFunctionT", bound="BatchFunction")
PublishMiddlewareT = TypeVar("PublishMiddlewareT", bound=PublishMiddleware)
ReplyT = TypeVar("ReplyT")
ValueT = TypeVar("ValueT")

DRAIN_TIMEOUT_S = 30.0
"""As of :class:`mqkit.App`."""

READY_TIMEOUT_S = 60.0
"""The time for topology and consumers at the begin of :meth:`App.running`."""

_TWINS = {"native": "native", "pika": "aio-pika"}
"""The blocking transports, and what consumers have in place of each."""


class App:
    """For any number of threads. Connects at the first publish; a forked child connects anew.

    The arguments are those of :class:`mqkit.App`; ``transport`` is "native" or "pika" (with which
    consumers are over aio-pika), and by default as ``settings.transport`` says. It need not be
    entered: the end of the program closes it, and so does ``with app:`` at the end of its block.

    Raises :exc:`~mqkit.errors.ConfigurationError`, naming file and line where there is one.
    """

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        topology: TopologyFiles | Topology | None = None,
        *,
        settings: Settings | None = None,
        drain_timeout: Span = DRAIN_TIMEOUT_S,
        transport: str | None = None,
    ) -> None:
        self.settings = chosen_settings(url, settings, None)
        if topology is not None and not isinstance(topology, Topology):
            topology = loaded_topology(topology)
        declarations: Sequence[Declaration] = ()
        if topology is not None:
            check_vhost(topology, self.settings)
            declarations = compile_topology(topology)
        self.topology = topology
        self._drain_timeout_s = seconds(drain_timeout, "drain_timeout")
        self._transport = _blocking_choice(transport, self.settings)
        self._own = OwnPublisher(
            partial(_publisher_and_caller, self._transport, self.settings, declarations)
        )
        self._consuming: mqkit.App | None = None
        finalize(self, self._own.close_beside).atexit = False

    # -- publishing --------------------------------------------------------------------------

    def publish(
        self,
        exchange: str,
        routing_key: str,
        body: object,
        *,
        message_id: str | None = None,
        headers: Mapping[str, Any] | None = None,
        deadline: Span | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
        delay: Span | None = None,
        **options: Unpack[MessageOptions],
    ) -> Outcome:
        """Publish one message - mandatory, persistent, confirmed - and say what came of it.

        As :meth:`mqkit.App.publish`, to the arguments and the outcomes; it waits in the calling
        thread, ``deadline`` at most (``settings.publish_deadline_s`` without it).

        Raises :exc:`~mqkit.errors.ConfigurationError` if no message can be made of the arguments,
        :exc:`~mqkit.errors.Closed` after :meth:`close`, and what lets the first connect fail for
        good (a refused login).
        """
        message = outgoing(exchange, routing_key, body, message_id=message_id, headers=headers)
        if options:
            message = with_options(message, **options)
        if delay is not None:
            message = self.delayed(message, delay)
        return self.send(message, deadline=deadline, resend=resend, on_blocked=on_blocked)

    def send(
        self,
        message: Message,
        *,
        deadline: Span | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> Outcome:
        """Publish a message that is made already, and say what came of it. As :meth:`publish`."""
        deadline_s = seconds_or_none(deadline, "deadline")
        return self._own.current.publish((message,), deadline_s, resend, on_blocked)[0]

    def publish_batch(
        self,
        messages: Sequence[Message],
        *,
        deadline: Span | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> list[Outcome]:
        """Publish messages in order, pipelined; one outcome each, in order. One deadline for all.

        Make them with :meth:`message`. Raises as :meth:`publish`.
        """
        deadline_s = seconds_or_none(deadline, "deadline")
        return self._own.current.publish(messages, deadline_s, resend, on_blocked)

    @overload
    def to(self, exchange: str, routing_key: str, *, name: str | None = None) -> Target[object]: ...

    @overload
    def to(
        self, exchange: str, routing_key: str, *, model: type[ValueT], name: str | None = None
    ) -> Target[ValueT]: ...

    def to(
        self,
        exchange: str,
        routing_key: str,
        *,
        model: type[Any] | None = None,
        name: str | None = None,
    ) -> Target[Any]:
        """A target for values of ``model``, or for any body without it. As :meth:`mqkit.App.to`."""
        return Target(self, exchange, routing_key, model, name)

    def call(
        self,
        exchange: str,
        routing_key: str,
        body: object,
        *,
        reply: type[ReplyT],
        message_id: str | None = None,
        headers: Mapping[str, Any] | None = None,
        deadline: Span | None = None,
    ) -> ReplyT:
        """Ask one question, wait for its answer in the calling thread, and return it as a
        ``reply``. As :meth:`mqkit.App.call`, to the arguments and what is raised; any number of
        threads may ask at a time. Not for a handler of a queue that only this app's handlers
        answer: it may wait for itself.

        Raises what lets the first connect fail for good (a refused login), too.
        """
        message = outgoing(exchange, routing_key, body, message_id=message_id, headers=headers)
        deadline_s = seconds_or_none(deadline, "deadline")
        answer: ReplyT = self._own.caller.call(message, reply, deadline_s)
        return answer

    def around_publish(self, middleware: PublishMiddlewareT) -> PublishMiddlewareT:
        """Register middleware, a plain function, for every publish of this app from now on, of its
        targets and batches; the first one is the outermost. See
        :class:`~mqkit.sync.PublishMiddleware`.

        Raises :exc:`~mqkit.errors.ConfigurationError` for what is async. As
        :meth:`mqkit.App.around_publish`, but for batches of more than
        :data:`mqkit.sync.surrounded.PART` messages, which go through in parts.
        """
        check_plain(middleware, "middleware")
        self._own.surround(middleware)
        return middleware

    message = staticmethod(outgoing)
    """The message that :meth:`publish` would publish of the same arguments: see
    :func:`mqkit.publishing.outgoing.outgoing`."""

    def delayed(self, message: Message, delay: Span) -> Message:
        """The message to publish in place of ``message``, so that it is routed after ``delay``. As
        :meth:`mqkit.App.delayed`."""
        return delayed(self.topology, message, delay)

    # -- consuming ---------------------------------------------------------------------------

    @property
    def consuming(self) -> mqkit.App:
        """The app whose machinery runs the consumers, made when it is first asked for. For what it
        alone has, before it runs: ``stats``, ``on_drift``, ``around_handle``. Its coroutines are
        for the loop that :meth:`run` runs, and not for here."""
        if self._consuming is None:
            from mqkit.app import App as AsyncApp  # half of the import, which few publishers need

            self._consuming = AsyncApp(
                topology=self.topology,
                settings=self.settings,
                drain_timeout=self._drain_timeout_s,
                transport=_TWINS[self._transport],
            )
        return self._consuming

    def consumer(
        self,
        queue: str | Temporary,
        *,
        prefetch: int | None = None,
        concurrency: int = 1,
        timeout: Span | None = None,
        ack: Literal["after", "before", "manual", "none"] = "after",
        priority: int | None = None,
        exclusive: bool = False,
        arguments: Mapping[str, object] | None = None,
        partition_by: PartitionBy | None = None,
        inbox: AnyInbox | None = None,
    ) -> Callable[[FunctionT], FunctionT]:
        """Register the decorated function, a plain one, for the messages of ``queue``. It is called
        in a worker thread, ``concurrency`` calls at a time. As :meth:`mqkit.App.consumer`."""
        register = self.consuming.consumer(
            queue,
            prefetch=prefetch,
            concurrency=concurrency,
            timeout=timeout,
            ack=ack,
            priority=priority,
            exclusive=exclusive,
            arguments=arguments,
            partition_by=partition_by,
            inbox=inbox,
        )
        return _plain(register)

    def batch_consumer(
        self,
        queue: str | Temporary,
        *,
        size: int,
        within: Span = 1.0,
        max_bytes: int | None = None,
        concurrency: int = 1,
        timeout: Span | None = None,
        priority: int | None = None,
        exclusive: bool = False,
        arguments: Mapping[str, object] | None = None,
        inbox: AnyInbox | None = None,
    ) -> Callable[[BatchFunctionT], BatchFunctionT]:
        """Register the decorated function, a plain one, for batches of ``queue``. As
        :meth:`mqkit.App.batch_consumer`."""
        register = self.consuming.batch_consumer(
            queue,
            size=size,
            within=within,
            max_bytes=max_bytes,
            concurrency=concurrency,
            timeout=timeout,
            priority=priority,
            exclusive=exclusive,
            arguments=arguments,
            inbox=inbox,
        )
        return _plain(register)

    def queue(
        self,
        queue: str | Temporary,
        *,
        concurrency: int | None = None,
        prefetch: int | None = None,
        timeout: Span | None = None,
        by: str | None = None,
        partition_by: PartitionBy | None = None,
        inbox: AnyInbox | None = None,
        rate: str | None = None,
    ) -> QueueHandle:
        """The handle of a queue, to register handlers of one type of message and hooks on before
        the consumers run. As :meth:`mqkit.App.queue`; its coroutines (``pause``, ``resume``) are
        for the loop that :meth:`run` runs."""
        return self.consuming.queue(
            queue,
            concurrency=concurrency,
            prefetch=prefetch,
            timeout=timeout,
            by=by,
            partition_by=partition_by,
            inbox=inbox,
            rate=rate,
        )

    # -- running -----------------------------------------------------------------------------

    def run(self) -> None:
        """Run the consumers until SIGTERM or SIGINT, then drain, and :meth:`close`: for the main
        thread of a service or a management command. As :meth:`mqkit.App.run`."""
        try:
            self.consuming.run()
        finally:
            self.close()

    @contextmanager
    def running(self, deadline: Span = READY_TIMEOUT_S) -> Iterator[Self]:
        """Run the consumers on a thread of their own for the time of the block, and drain them at
        its end: for tests, and for a program whose main thread does something else.

        Returns when topology and consumers are set up. Raises
        :exc:`~mqkit.errors.DeadlineExceeded` when they are not by then, and what ended the first
        start. No signal is listened for.
        """
        from anyio.from_thread import start_blocking_portal

        from mqkit.sync.background import run_until

        with start_blocking_portal() as portal:
            ended, stop = portal.start_task(
                run_until, self.consuming, seconds(deadline, "deadline")
            )
            try:
                yield self
            finally:
                portal.call(stop.set)
                ended.result()

    def close(self) -> None:
        """Begin no more publishes, wait for those under way (``drain_timeout`` at most), and close
        the connection. Idempotent; a publish afterwards raises :exc:`~mqkit.errors.Closed`."""
        self._own.close(self._drain_timeout_s)

    def __enter__(self) -> Self:
        self._own.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _publisher_and_caller(
    transport: str, settings: Settings, declarations: Sequence[Declaration]
) -> tuple[Publisher, Caller]:
    window = WindowSize(messages=settings.publish_window)
    link = Link(BlockingChoice(transport).transport(window), settings, declarations)
    return Publisher(link, settings), Caller(link, settings)


def _blocking_choice(transport: str | None, settings: Settings) -> str:
    """The name of the blocking transport."""
    if transport is None:
        return next(name for name, twin in _TWINS.items() if twin == settings.transport)
    if transport not in _TWINS:
        raise ConfigurationError(
            f"there is no blocking transport {transport!r}, but these: {', '.join(_TWINS)}"
        )
    return transport


def _plain(register: Callable[[FunctionT], FunctionT]) -> Callable[[FunctionT], FunctionT]:
    def checked(function: FunctionT) -> FunctionT:
        check_plain(function, "handlers")
        return register(function)

    return checked
