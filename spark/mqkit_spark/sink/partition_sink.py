"""Publishes the messages of one partition, and returns only when each has its outcome.

Confirms are pipelined: thousands of messages are in flight, and outcomes are looked at in the
order of sending. What the broker nacked, and what a lost connection left in doubt, is sent once
more under the same id, ``publishRetries`` times at most; everything else that is not a confirm
ends the task, unless an option says to drop it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from mqkit.errors import MqkitError, TransportError
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.transport.blocking import BlockingChannel, BlockingConnection
from mqkit_spark.options import OnUnroutable, SinkOptions
from mqkit_spark.sink.report import PublishFailed

CHUNK_MESSAGES = 500
"""Messages handed to the transport at a time; between two such calls, finished outcomes are taken
off."""

POLL_INTERVAL_S = 0.25
"""Seconds between two looks of a wait at its deadline."""

RETRY_PAUSE_S = 0.2
"""The pause before a nacked message is sent again; doubled each time. A full queue needs time to
drain."""

Borrow = Callable[[SinkOptions], AbstractContextManager[BlockingConnection]]
"""The source of a sink's connection: :func:`mqkit_spark.pool.borrowed`, or a test's own."""


@dataclass(slots=True)
class _InFlight:
    message: Message
    attempt: int
    future: Future[Outcome]
    channel: BlockingChannel
    """The channel of the publish: the sink may have another by the time that it looks at the
    outcome."""


@dataclass(slots=True)
class Counts:
    """The counts of a sink so far."""

    confirmed: int = 0
    unroutable: int = 0
    resent: int = 0
    body_bytes: int = 0
    blocked_seconds: float = 0.0


@dataclass(slots=True)
class _Again:
    message: Message
    attempt: int
    why: str


class PartitionSink:
    """A context manager. No connection is opened before the first message.

    :meth:`send` messages, then :meth:`finish`; without that nothing is known of the last ones.
    They raise :exc:`~mqkit_spark.sink.report.PublishFailed`, or what connecting raises; the
    connection is closed then, with whatever is in flight. ``pause`` waits for so many seconds,
    before a retry.
    """

    def __init__(
        self, options: SinkOptions, borrow: Borrow, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.counts = Counts()
        self._options = options
        self._borrow = borrow
        self._pause = pause
        self._stack = ExitStack()
        self._connection: BlockingConnection | None = None
        self._channel: BlockingChannel | None = None
        self._blocked_before_s = 0.0
        self._in_flight: deque[_InFlight] = deque()
        self._again: list[_Again] = []
        self._progress_at = 0.0
        self._blocked_at_progress_s = 0.0

    def __enter__(self) -> PartitionSink:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None and self._connection is not None:
            self._connection.close()
        self._disconnect()

    def send(self, messages: list[Message]) -> None:
        """Publish; waits only while too much is in flight."""
        for start in range(0, len(messages), CHUNK_MESSAGES):
            self._send_chunk(messages[start : start + CHUNK_MESSAGES], attempt=0)
            if len(self._again) >= self._options.max_in_flight:
                self._send_again()

    def finish(self) -> None:
        """Wait until every message has its outcome."""
        self._settle_all()
        while self._again:
            self._send_again()
            self._settle_all()
        self._disconnect()

    def _send_chunk(self, messages: list[Message], attempt: int) -> None:
        channel = self._open_channel()
        patience_s = self._options.confirm_timeout_s + self._options.blocked_timeout_s
        futures = channel.publish_many(messages, timeout_s=patience_s)
        for message, future in zip(messages, futures, strict=True):
            self._in_flight.append(_InFlight(message, attempt, future, channel))
        while self._in_flight and self._in_flight[0].future.done():
            self._settle(self._in_flight.popleft())

    def _send_again(self) -> None:
        again, self._again = self._again, []
        tired = next((e for e in again if e.attempt > self._options.publish_retries), None)
        if tired is not None:
            raise PublishFailed(
                f"message {_name(tired.message)} was sent {tired.attempt} times in vain:"
                f" {tired.why}"
            )
        attempt = max(each.attempt for each in again)
        self._pause(RETRY_PAUSE_S * 2 ** (attempt - 1))
        self.counts.resent += len(again)
        for start in range(0, len(again), CHUNK_MESSAGES):
            chunk = [each.message for each in again[start : start + CHUNK_MESSAGES]]
            self._send_chunk(chunk, attempt)

    def _settle_all(self) -> None:
        self._note_progress()
        while self._in_flight:
            future = self._in_flight[0].future
            try:
                future.result(POLL_INTERVAL_S)
            except TimeoutError:
                self._check_patience()
            else:
                self._settle(self._in_flight.popleft())
                self._note_progress()

    def _settle(self, done: _InFlight) -> None:
        message = done.message
        match done.future.result():
            case Confirmed():
                self.counts.confirmed += 1
                self.counts.body_bytes += len(message.body)
            case Rejected(reason=RejectReason.UNROUTABLE) as no:
                if self._options.on_unroutable is OnUnroutable.FAIL:
                    raise PublishFailed(
                        f"message {_name(message)} is unroutable: no queue is bound to exchange"
                        f" {message.exchange!r} for routing key {message.routing_key!r}"
                        f" ({no.detail}); bind one, or set onUnroutable to drop"
                    )
                self.counts.unroutable += 1
            case Rejected(reason=RejectReason.NACKED) as no:
                self._again.append(_Again(message, done.attempt + 1, no.detail))
            case Rejected() as no:
                raise PublishFailed(f"message {_name(message)}: {no.reason.value}: {no.detail}")
            case Unknown() if done.channel.is_open:
                raise PublishFailed(self._too_slow())
            case Unknown() as lost:
                self._again.append(_Again(message, done.attempt + 1, lost.detail))

    # ---- the connection

    def _open_channel(self) -> BlockingChannel:
        if self._channel is not None and self._channel.is_open:
            return self._channel
        self._disconnect()
        attempt = 0
        while True:
            try:
                self._connection = self._stack.enter_context(self._borrow(self._options))
                self._channel = self._connection.channel(confirms=True)
            except TransportError:
                self._disconnect()
                attempt += 1
                if attempt > self._options.publish_retries:
                    raise
                self._pause(RETRY_PAUSE_S * 2 ** (attempt - 1))
            else:
                self._blocked_before_s = self._connection.blocked_s
                self._note_progress()
                return self._channel

    def _disconnect(self) -> None:
        """Give the connection back, open or not; the pool looks which."""
        if self._connection is not None:
            self.counts.blocked_seconds += self._connection.blocked_s - self._blocked_before_s
            try:
                if self._channel is not None:
                    self._channel.close()
            except MqkitError:  # all has its outcome: what will not close need not fail the task
                self._connection.close()
        self._channel = None
        self._connection = None
        self._stack.close()

    # ---- patience

    def _note_progress(self) -> None:
        self._progress_at = time.monotonic()
        self._blocked_at_progress_s = self._blocked_s()

    def _check_patience(self) -> None:
        blocked_s = self._blocked_s() - self._blocked_at_progress_s
        silent_s = time.monotonic() - self._progress_at - blocked_s
        options = self._options
        if silent_s > options.confirm_timeout_s or blocked_s > options.blocked_timeout_s:
            raise PublishFailed(self._too_slow())

    def _too_slow(self) -> str:
        blocked_s = self._blocked_s() - self._blocked_at_progress_s
        return (
            f"{len(self._in_flight)} messages are unconfirmed and nothing moves: waited"
            f" {time.monotonic() - self._progress_at:.0f} s, for {blocked_s:.0f} s of which the"
            " broker had blocked the connection (confirmTimeout, blockedTimeout)"
        )

    def _blocked_s(self) -> float:
        return 0.0 if self._connection is None else self._connection.blocked_s


def _name(message: Message) -> str:
    return repr(message.properties.message_id or message.body[:40])
