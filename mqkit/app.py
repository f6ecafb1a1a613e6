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
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio

from mqkit.client import Client, MakeConsumer
from mqkit.consumer import (
    BATCH_SIZE_MAX,
    DRAIN_TIMEOUT_S,
    BatchConsumer,
    BatchFunction,
    BatchHandler,
    Consumer,
    MessageFunction,
    MessageHandler,
    Stats,
    Window,
)
from mqkit.errors import Closed, ConfigurationError, MqkitError
from mqkit.supervision.final_error import end_program
from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.outgoing import outgoing
from mqkit.seconds import Span, seconds, seconds_or_none
from mqkit.settings import Settings
from mqkit.supervision.states import State
from mqkit.topology import Topology, load
from mqkit.transport.choice import chosen
from mqkit.transport.seam import Transport

_LOG = logging.getLogger(__name__)

PREFETCH_PER_HANDLER = 10
"""Enough on its way to keep a fast handler busy; few enough that others get their share."""
PREFETCH_MAX = 65_535
"""AMQP counts it in 16 bits."""

ReplyT = TypeVar("ReplyT")
FunctionT = TypeVar("FunctionT", bound=MessageFunction)
BatchFunctionT = TypeVar("BatchFunctionT", bound=BatchFunction)


class App:
    """An async context manager; entering returns at once, and connecting goes on behind.

    ``url`` is one AMQP URL or several of one cluster; without it ``MQKIT_URLS`` or ``MQKIT_URL`` is
    read. ``settings`` has everything else that can be set, and then the URLs too. ``topology``, a
    YAML file or one that is loaded, is declared at each connect, and gives the queues their retry
    policies. ``drain_timeout`` is what handlers get to finish at the end. ``transport`` is one of
    :data:`mqkit.transport.choice.TRANSPORTS` by its name, or one that the program has made; without
    it ``settings.transport`` says: mqkit's own, "native", unless said otherwise.

    Raises :exc:`~mqkit.errors.ConfigurationError`, naming file and line where there is one. A
    refused login, or a queue of a consumer that is not there, ends the first start: ``async with``
    raises it, and cancels its block. A broker that does not answer is waited for.
    """

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        topology: str | os.PathLike[str] | Topology | None = None,
        *,
        settings: Settings | None = None,
        drain_timeout: Span = DRAIN_TIMEOUT_S,
        transport: Transport | str | None = None,
    ) -> None:
        if url is not None and settings is not None:
            raise ConfigurationError("give the URL in the settings, or no settings")
        self.settings = settings or Settings.load(**({} if url is None else {"urls": url}))
        self.topology = (
            topology
            if topology is None or isinstance(topology, Topology)
            else load(os.fspath(topology))
        )
        self.stats = Stats()
        """Counters of settled deliveries, over all consumers of this app."""
        self._drain_timeout_s = seconds(drain_timeout, "drain_timeout")
        self._transport = chosen(self.settings.transport if transport is None else transport)
        self._consumers: list[tuple[str, MakeConsumer]] = []
        self._client: Client | None = None
        self._running: AbstractAsyncContextManager[None] | None = None

    # -- registering -------------------------------------------------------------------------

    def consumer(
        self,
        queue: str,
        *,
        prefetch: int | None = None,
        concurrency: int = 1,
        timeout: Span | None = None,
    ) -> Callable[[FunctionT], FunctionT]:
        """Register the decorated function for the messages of ``queue``; it stays as it is.

        A message is acked after its handler returned. At most ``concurrency`` handlers run at once
        (one handles in order); the broker sends up to ``prefetch`` unsettled messages, ten per
        handler unless said otherwise. A handler that takes longer than ``timeout`` is cancelled
        and has failed; without it, it may take for ever. What its arguments may be, see
        :mod:`mqkit.consumer.handler`; what becomes of failures, :mod:`mqkit.consumer.settlement`.

        Raises :exc:`~mqkit.errors.ConfigurationError` for a signature that can't be served.
        """
        _between("concurrency", concurrency, 1, PREFETCH_MAX)
        if prefetch is None:
            prefetch = min(PREFETCH_MAX, PREFETCH_PER_HANDLER * concurrency)
        _between("prefetch", prefetch, concurrency, PREFETCH_MAX)
        timeout_s = _time_limit(timeout)
        _queue_name("consumer", queue)

        def register(function: FunctionT) -> FunctionT:
            handler = MessageHandler(function, timeout_s=timeout_s, threads=concurrency)
            self._register(
                queue,
                lambda settler, link: Consumer(
                    queue, handler, settler, link, prefetch=prefetch, concurrency=concurrency
                ),
            )
            return function

        return register

    def batch_consumer(
        self,
        queue: str,
        *,
        size: int,
        within: Span = 1.0,
        timeout: Span | None = None,
    ) -> Callable[[BatchFunctionT], BatchFunctionT]:
        """Register the decorated function for batches of ``queue``: up to ``size`` messages, as
        many as came ``within`` that time after the first.

        It gets a :class:`~mqkit.Batch`; what it does not retry or park there is acked when it
        returns. If it raises, every message of the batch is retried by itself. One batch is
        handled at a time.

        Raises :exc:`~mqkit.errors.ConfigurationError` for a signature that can't be served.
        """
        _between("size", size, 1, BATCH_SIZE_MAX)
        window = Window(size, seconds(within, "within"))
        timeout_s = _time_limit(timeout)
        _queue_name("batch_consumer", queue)

        def register(function: BatchFunctionT) -> BatchFunctionT:
            handler = BatchHandler(function, timeout_s=timeout_s)
            self._register(
                queue,
                lambda settler, link: BatchConsumer(queue, handler, settler, link, window=window),
            )
            return function

        return register

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
    ) -> Outcome:
        """Publish one message - mandatory, persistent, confirmed - and say what came of it.

        ``body``: bytes, str, a pydantic model, or what JSON can carry. The message id is made if
        not given; a lost connection has the message published again under the same id, as long as
        ``deadline`` allows, which is for everything (``settings.publish_deadline_s`` without it).

        Raises :exc:`~mqkit.errors.ConfigurationError` if no message can be made of the arguments
        (see :func:`mqkit.outgoing.outgoing`), :exc:`~mqkit.errors.Closed` outside of
        ``async with``, and what ended the first start.
        """
        message = outgoing(exchange, routing_key, body, message_id=message_id, headers=headers)
        return await self._entered().publish(message, seconds_or_none(deadline, "deadline"))

    async def publish_batch(
        self, messages: Sequence[Message], *, deadline: Span | None = None
    ) -> list[Outcome]:
        """Publish messages in order, pipelined; one outcome each, in order. One deadline for all.

        Make them with :meth:`message`. Raises as :meth:`publish`.
        """
        return await self._entered().publish_many(messages, seconds_or_none(deadline, "deadline"))

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
    """The message that :meth:`publish` would publish of the same arguments. Not a method that calls
    :func:`mqkit.outgoing.outgoing`, but that function: a batch begins with a thousand calls."""

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
            self.settings, self._transport, self.topology, self._consumers, self.stats
        )
        self._running = self._client.running(self._drain_timeout_s)
        await self._running.__aenter__()
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

    def run(self) -> None:
        """Run until SIGTERM or SIGINT, then drain: for the main thread of a service.

        A second signal ends the process without waiting; so it does where a plain function never
        returns, since its thread can't be stopped. Where ``async with`` raises an error of mqkit's
        (a refused login, a queue that is not there), this writes a line to stderr that says what to
        do, and raises ``SystemExit(1)`` from the error; with ``MQKIT_TRACEBACK=1`` in the
        environment it raises the error.
        """
        try:
            anyio.run(self._serve)
        except MqkitError as error:
            end_program(error)

    async def _serve(self) -> None:
        async with self:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for number in signals:
                    _LOG.info("%s: draining", signal.Signals(number).name)
                    break

    def _register(self, queue: str, make: MakeConsumer) -> None:
        if self._client is not None:
            raise ConfigurationError("register handlers before the app runs")
        self._consumers.append((queue, make))

    def _entered(self) -> Client:
        if self._client is None:
            raise Closed("the app is not running: use it inside of `async with app`")
        return self._client


def _queue_name(decorator: str, queue: object) -> None:
    if not isinstance(queue, str) or not queue:
        raise ConfigurationError(
            f'{decorator} takes the name of a queue, not {queue!r}: @app.{decorator}("name")'
        )


def _time_limit(timeout: Span | None) -> float | None:
    timeout_s = seconds_or_none(timeout, "timeout")
    if timeout_s == 0:
        raise ConfigurationError("timeout=0 would end every handler at once; None is no timeout")
    return timeout_s


def _between(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigurationError(f"{name}={value!r}: expected a whole number, {least} to {most}")
