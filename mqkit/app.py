"""The application: handlers are registered on it, messages are published through it.

    app = mqkit.App("amqp://guest:guest@127.0.0.1:5672/", topology="topology.yaml")

    @app.consumer("delays", concurrency=8, timeout="30s")
    async def note(delay: Delay) -> None: ...

    app.run()                                             # a service: until SIGTERM or SIGINT

    async with app:                                       # a script, a test, another framework
        outcome = await app.publish("flights", "DTW.late", delay, deadline="5s")

This file only wires; what is wired together is in :mod:`mqkit.client`.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack, overload

import anyio

from mqkit.app_arguments import TopologyFiles, chosen_settings, loaded_topology, queue_name
from mqkit.beside import beside_the_block
from mqkit.client import Client
from mqkit.consumer import (
    BATCH_SIZE_MAX,
    DRAIN_TIMEOUT_S,
    BatchConsumer,
    BatchFunction,
    BatchHandler,
    ConsumeOptions,
    MessageFunction,
    MessageHandler,
    QueueHandle,
    Window,
)
from mqkit.consumer.acks.consumers import consumer_of
from mqkit.consumer.acks.inbox import AnyInbox, check_inbox
from mqkit.consumer.acks.mode import AckMode, check_ack
from mqkit.consumer.handling_options import (
    PREFETCH_MAX,
    HandlingOptions,
    check_between,
    time_limit_s,
)
from mqkit.consumer.partitions.key import PartitionBy
from mqkit.delay import delayed
from mqkit.errors import Closed, ConfigurationError, MqkitError
from mqkit.message import Message
from mqkit.middleware import HandleMiddleware, Middleware, PublishMiddleware, Tracing
from mqkit.observation.app import ObservedApp
from mqkit.outcome import Outcome
from mqkit.pool import WhenBlocked
from mqkit.publishing.message_options import MessageOptions, with_options
from mqkit.publishing.outgoing import outgoing, with_body
from mqkit.publishing.target import Target
from mqkit.resources import AppResources
from mqkit.supervision.final_error import end_program
from mqkit.supervision.states import State
from mqkit.timing.app_clock import AppClock
from mqkit.timing.seconds import Span, seconds, seconds_or_none
from mqkit.topology import Temporary, Topology
from mqkit.topology.model import QueueModel
from mqkit.transport.choice import chosen
from mqkit.transport.seam import Transport

if TYPE_CHECKING:
    from mqkit.settings import Settings

_LOG = logging.getLogger(__name__)

ReplyT = TypeVar("ReplyT")
FunctionT = TypeVar("FunctionT", bound=MessageFunction)
BatchFunctionT = TypeVar("BatchFunctionT", bound=BatchFunction)
ValueT = TypeVar("ValueT")
PublishMiddlewareT = TypeVar("PublishMiddlewareT", bound=PublishMiddleware)
HandleMiddlewareT = TypeVar("HandleMiddlewareT", bound=HandleMiddleware)


class App(ObservedApp):
    """An async context manager; entering returns at once, and connecting goes on behind.

    ``url`` is one AMQP URL or several of one cluster; without it ``MQKIT_URLS`` or ``MQKIT_URL`` is
    read. ``settings`` has everything else that can be set, and then the URLs too. ``topology``, a
    YAML file, several of them that are laid over each other, or one that is loaded, is declared at
    each connect, and gives the queues their retry policies. ``drain_timeout`` is what handlers get
    to finish at the end. ``transport`` is one of :data:`mqkit.transport.choice.TRANSPORTS` by its
    name, or one that the program has made; without it ``settings.transport`` says: mqkit's own,
    "native", unless said otherwise. ``drift_every`` is ``settings.drift_every_s``: how often what
    is declared is compared with what is there. ``clock`` is for tests: what the consumers wait by
    (see :mod:`mqkit.timing.app_clock`), the machine's clock without it. ``metrics`` has handlers
    and publishes measured, ``health`` is the address that answers ``/live``, ``/ready`` and
    ``/metrics`` (docs/seeing.md, docs/health.md).

    Raises :exc:`~mqkit.errors.ConfigurationError`, naming file and line where there is one. A
    refused login, or a queue of a consumer that is not there, ends the first start: ``async with``
    raises it, and cancels its block. A broker that does not answer is waited for.
    """

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        topology: TopologyFiles | Topology | None = None,
        *,
        settings: Settings | None = None,
        drain_timeout: Span = DRAIN_TIMEOUT_S,
        transport: Transport | str | None = None,
        drift_every: Span | None = None,
        clock: AppClock | None = None,
        metrics: bool | None = None,
        health: str | None = None,
    ) -> None:
        given = {"metrics": metrics, "health": health}
        super().__init__(chosen_settings(url, settings, drift_every, **given))
        if topology is not None and not isinstance(topology, Topology):
            topology = loaded_topology(topology)
        self.clock = clock
        self.topology = topology
        self.drain_timeout_s = seconds(drain_timeout, "drain_timeout")
        self._transport = chosen(self.settings.transport if transport is None else transport)
        self._queues: dict[str, QueueHandle] = {}
        self._middleware = Middleware()
        self._resources = AppResources()
        self._client: Client | None = None
        self._running: AbstractAsyncContextManager[None] | None = None

    # -- registering -------------------------------------------------------------------------

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
        """Register the decorated function for the messages of ``queue``; it stays as it is.

        At most ``concurrency`` handlers run at once (one handles in order); the broker sends up to
        ``prefetch`` unsettled messages, ten per handler unless said otherwise. A handler that takes
        longer than ``timeout`` is cancelled and has failed; without it, it may take for ever. What
        its arguments may be, see :mod:`mqkit.consumer.handler`.

        ``ack="after"``: a message is acked when its handler has returned; what becomes of failures,
        see :mod:`mqkit.consumer.settlement`. "before": when its handler is about to begin, and a
        failure is logged and counted, no more. "manual": the handler settles it, by its
        :class:`~mqkit.ManualDelivery`. "none": when the broker has sent it, over a connection of
        its own, and a lost connection loses what was on its way; there is no ``prefetch``.
        ``partition_by``, a field of the JSON body or a function of the delivery: messages of one
        key are handled one at a time, in order, retries included (docs/order.md). ``inbox`` has
        what the handler writes, and the message's key, in one transaction (docs/inbox.md).

        Consumers of a higher ``priority`` (0 unless said otherwise) get messages while they have
        room. An ``exclusive`` one has the queue alone, or is refused. ``arguments`` are those of
        ``basic.consume``. In an app that is running the consumer starts at once, and a queue that
        is not there is waited for. Raises :exc:`~mqkit.errors.ConfigurationError` for a signature
        that can't be served, and for options that make no sense.
        """
        handling = HandlingOptions.of(
            concurrency=concurrency, prefetch=prefetch, timeout=timeout, partition_by=partition_by
        )
        name = queue_name("consumer", queue)
        options = ConsumeOptions.of(
            handling.prefetch, priority=priority, exclusive=exclusive, arguments=arguments
        )
        mode = check_inbox(inbox, check_ack(ack, name, self._model(name), prefetch))
        new_consumer = consumer_of(mode, partition_by)

        def register(function: FunctionT) -> FunctionT:
            handler = MessageHandler(
                function,
                timeout_s=handling.timeout_s,
                threads=concurrency,
                settles_itself=mode is AckMode.MANUAL,
                resources=self._resources,
            )
            called = handler if inbox is None else inbox.around(handler, name, self.topology)
            make = partial(new_consumer, name, called, options=options, concurrency=concurrency)
            self.queue(queue).add(make)
            return function

        return register

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
        """Register the decorated function for batches of ``queue``: up to ``size`` messages, as
        many as came ``within`` that time after the first, and no more than ``max_bytes`` of bodies
        (a message that is larger comes alone).

        It gets a :class:`~mqkit.Batch`; what it does not retry or park there is acked when it
        returns. If it raises, every message of the batch is retried by itself. ``concurrency``
        batches are handled at once: with one, a batch is acked with one frame, with more each
        message is. ``priority``, ``exclusive``, ``arguments`` and ``inbox`` (one transaction for
        the whole batch) as for :meth:`consumer`.

        Raises :exc:`~mqkit.errors.ConfigurationError` for a signature that can't be served, and for
        options that make no sense.
        """
        check_between("size", size, 1, BATCH_SIZE_MAX)
        check_between("concurrency", concurrency, 1, PREFETCH_MAX // size - 1)
        if max_bytes is None:
            max_bytes = sys.maxsize
        check_between("max_bytes", max_bytes, 1, sys.maxsize)
        window = Window(size, seconds(within, "within"), max_bytes, concurrency)
        timeout_s = time_limit_s(timeout)
        name = queue_name("batch_consumer", queue)
        options = ConsumeOptions.of(
            window.prefetch, priority=priority, exclusive=exclusive, arguments=arguments
        )

        def register(function: BatchFunctionT) -> BatchFunctionT:
            handler = BatchHandler(
                function, timeout_s=timeout_s, threads=concurrency, resources=self._resources
            )
            called = handler if inbox is None else inbox.around_batch(handler, name, self.topology)
            self.queue(queue).add(
                lambda settler, link: BatchConsumer(
                    name, called, settler, link, window=window, options=options
                ),
            )
            return function

        return register

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
        """The handle of a queue: its consumers in this app are paused, resumed and removed by it,
        handlers of one type of message and hooks are registered on it. The same one each time.

        The options are those of the one consumer that :meth:`QueueHandle.on` makes: as for
        :meth:`consumer`, and ``by`` is the field of the JSON body that has the type's name; without
        it the ``type`` property does. Give them once, before the first handler.

        ``rate`` ("100/s", "30/m", "2/10s") is of all consumers of the queue in this app: they begin
        no more handlers than that, a batch counting as one. Give it before they run.
        """
        name = queue_name("queue", queue)
        if name not in self._queues:
            temporary = queue if isinstance(queue, Temporary) else None
            handle = QueueHandle(name, temporary, self._resources, self.topology)
            self._queues[name] = handle
            if self._client is not None:
                self._client.adopt(handle)
        handle = self._queues[name]
        if rate is not None:
            handle.limit(rate)
        by_type = (concurrency, prefetch, timeout, by, partition_by, inbox)
        if any(option is not None for option in by_type):
            handle.handle_by_type(
                HandlingOptions.of(
                    concurrency=1 if concurrency is None else concurrency,
                    prefetch=prefetch,
                    timeout=timeout,
                    partition_by=partition_by,
                ),
                by,
                inbox,
            )
        return handle

    def around_publish(self, middleware: PublishMiddlewareT) -> PublishMiddlewareT:
        """Register middleware for every publish of this app, of its targets and batches; the first
        one is the outermost. See :class:`~mqkit.PublishMiddleware`.

        Raises :exc:`~mqkit.errors.ConfigurationError` for what is not async, and in an app that is
        running, which has taken what there was.
        """
        self._middleware.add_publish(middleware)
        return middleware

    def around_handle(self, middleware: HandleMiddlewareT) -> HandleMiddlewareT:
        """Register middleware for every handler of single messages. See
        :class:`~mqkit.HandleMiddleware`. As :meth:`around_publish`."""
        self._middleware.add_handle(middleware)
        return middleware

    def trace(self, tracing: Tracing) -> None:
        """Have ``tracing`` put spans around publishes, calls and handlers, middleware included.
        :func:`mqkit.otel.instrument` makes one, and calls this.

        Raises :exc:`~mqkit.errors.ConfigurationError` the second time, and in an app that is
        running.
        """
        self._middleware.trace(tracing)

    # -- publishing --------------------------------------------------------------------------

    async def publish(
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

        ``body``: bytes, str, a pydantic model, or what JSON can carry. The message id is made if
        not given; a lost connection has the message published again under the same id, as long as
        ``deadline`` allows, which is for everything (``settings.publish_deadline_s`` without it).
        With ``resend=False`` it is ``Unknown`` then. ``on_blocked`` is "wait" or "fail", or as
        ``settings.on_blocked`` says. The other properties: :class:`~mqkit.MessageOptions`.
        With ``delay`` it is routed so much later, see :meth:`delayed`.

        Raises :exc:`~mqkit.errors.ConfigurationError` if no message can be made of the arguments
        (see :func:`mqkit.publishing.outgoing.outgoing`), :exc:`~mqkit.errors.Closed` outside of
        ``async with``, and what ended the first start.
        """
        client = self._client or self._entered()
        fill = None
        backlog = client.backlog
        if backlog.room <= 0 or backlog.line:  # the body is made in its turn
            body, fill = b"", partial(with_body, body=body)
        message = outgoing(exchange, routing_key, body, message_id=message_id, headers=headers)
        if options:
            message = with_options(message, **options)
        if delay is not None:
            message = self.delayed(message, delay)
        deadline_s = None if deadline is None else seconds(deadline, "deadline")
        return await client.publish(message, deadline_s, resend, on_blocked, fill)

    async def send(
        self,
        message: Message,
        *,
        deadline: Span | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> Outcome:
        """Publish a message that is made already, and say what came of it. As :meth:`publish`."""
        deadline_s = seconds_or_none(deadline, "deadline")
        return await self._entered().publish(message, deadline_s, resend, on_blocked)

    async def publish_batch(
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
        return await self._entered().publish_many(messages, deadline_s, resend, on_blocked)

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
        """A :class:`~mqkit.Target` for values of ``model``, or for any body without it.

        Its messages have the ``type`` property ``name``, or else the model's name. May be called
        before and inside of ``async with``. Raises as :class:`~mqkit.Target`.
        """
        return Target(self.publish, exchange, routing_key, model, name)

    async def call(
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
        """Ask one question, and return the answer as a ``reply``: a pydantic model, ``bytes``,
        ``str``, or what pydantic makes of JSON. The question is as in :meth:`publish`; its handler
        answers by returning.

        Never asks twice, and never waits longer than ``deadline`` (``settings.publish_deadline_s``
        without it), which travels with the question: no handler begins after it. Raises
        :exc:`~mqkit.errors.RemoteError` for what the handler raised;
        :exc:`~mqkit.errors.DeadlineExceeded`; :exc:`~mqkit.errors.CallRejected` where the broker
        refuses the question; :exc:`~mqkit.errors.ConnectionLost` when the connection goes, where
        the handler may have run; :exc:`~mqkit.BodyMisfit` for an answer of another type; and as
        :meth:`publish`.
        """
        message = outgoing(exchange, routing_key, body, message_id=message_id, headers=headers)
        deadline_s = seconds_or_none(deadline, "deadline")
        answer: ReplyT = await self._entered().call(message, reply, deadline_s)
        return answer

    message = staticmethod(outgoing)
    """The message that :meth:`publish` would publish of the same arguments. It is the function
    :func:`mqkit.publishing.outgoing.outgoing` itself, and no method that calls it: a batch begins
    with a thousand calls."""

    def delayed(self, message: Message, delay: Span) -> Message:
        """The message to publish in place of ``message``, so that it is routed after ``delay``.

        The topology says which delays an exchange has: any, if its type is ``x-delayed-message``,
        else those of its ``delays:``. Raises :exc:`~mqkit.errors.ConfigurationError`, naming them,
        for every other delay and exchange. A confirm says that the broker keeps the message
        waiting, and not that a queue is bound for it: that shows when the time is over.
        """
        return delayed(self.topology, message, delay)

    # -- running -----------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The state of the app's connections; ``CLOSED`` while the app is not entered."""
        return State.CLOSED if self._client is None else self._client.state

    async def wait_ready(self, deadline: Span | None = None) -> None:
        """Return when topology and consumers are set up.

        Raises :exc:`~mqkit.errors.DeadlineExceeded`, naming the last problem, when the time is
        over, and what ended the first start, if it has ended.
        """
        await self._entered().wait_ready(seconds_or_none(deadline, "deadline"))

    async def __aenter__(self) -> Self:
        if self._client is not None:
            raise ConfigurationError("the app is running already")
        self._client = Client(
            self.settings,
            self._transport,
            self.topology,
            self._queues.values(),
            self._observation,
            self._middleware,
            self._resources,
            self.on_drift,
            self.clock,
        )
        self._running = self._probed(self._client.running(self.drain_timeout_s))
        try:
            await self._running.__aenter__()
        except BaseException:
            self._client = self._running = None
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        running, self._running = self._running, None
        assert running is not None
        try:
            return await running.__aexit__(kind, error, trace)
        finally:
            self._client = None

    def run(self, *beside: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run until SIGTERM or SIGINT, then drain: for the main thread of a service.

        Each of ``beside`` is called without arguments, and runs beside the app: it is cancelled
        before the app drains, and the app ends by an error that it raises (see
        :class:`mqkit.lots.Lots`). One that returns leaves the app running.

        A second signal ends the process without waiting; so it does where a plain function never
        returns, since its thread can't be stopped. Where ``async with`` raises an error of mqkit's
        (a refused login, a queue that is not there), this writes a line to stderr that says what to
        do, and raises ``SystemExit(1)`` from the error; with ``MQKIT_TRACEBACK=1`` in the
        environment it raises the error.
        """
        try:
            anyio.run(self._serve, beside)
        except MqkitError as error:
            end_program(error)

    async def _serve(self, beside: Sequence[Callable[[], Coroutine[Any, Any, object]]]) -> None:
        async with self:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async with beside_the_block(beside):
                    async for number in signals:
                        _LOG.info("%s: draining", signal.Signals(number).name)
                        break

    def _model(self, queue: str) -> QueueModel | None:
        return self.topology.queue(queue) if self.topology else None

    def _entered(self) -> Client:
        if self._client is None:
            raise Closed("the app is not running: use it inside of `async with app`")
        return self._client
