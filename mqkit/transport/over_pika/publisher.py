"""Publishing on one channel of the pika adapter, pipelined.

::

    caller ──window──> outbox ──loop's thread──> pika ──> broker
                          │                  └─> ledger ──ack, nack, return──> outcome
                          └─ waits while the broker has blocked the connection; reading goes on

An entry is in exactly one of outbox and ledger until its future is done, and its place in the
window is given back at that moment. On a channel without confirms nothing tells when the broker
has read what was written; so places are given back by a round trip (a passive declare of
``amq.direct``, which every broker has) each time that half of the window was written.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pika import exceptions as pika_errors
from pika import spec

from mqkit.errors import Closed, MqkitError
from mqkit.message import Message
from mqkit.outcome import Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.confirms import ConfirmLedger
from mqkit.transport.over_pika.loop import LoopThread
from mqkit.transport.over_pika.properties import from_pika, to_pika
from mqkit.transport.over_pika.window import Window
from mqkit.transport.window_size import MESSAGE_OVERHEAD_BYTES, WindowSize

WRITES_PER_TURN = 256
"""Messages after which the thread looks at its socket again: confirms are read in between."""

ROUND_TRIP_EXCHANGE = "amq.direct"

ENCODING_ERRORS = (
    pika_errors.AMQPError,
    AssertionError,
    AttributeError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,
)
"""The exceptions of pika for values that AMQP has no place for. It encodes the whole message before
it writes any of it, so nothing was sent then."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message on its way. ``cost_bytes`` is what it takes of the window."""

    message: Message
    future: Future[Outcome]
    cost_bytes: int


class PikaPublisher:
    """:meth:`publish_many` is for any thread; all else runs on the loop's thread."""

    def __init__(self, thread: LoopThread, size: WindowSize, *, confirms: bool) -> None:
        self._thread = thread
        self._size = size
        self._confirms = confirms
        self._window = Window(size)
        self._outbox: deque[Entry] = deque()
        self._ledger: ConfirmLedger[Entry] = ConfirmLedger()
        self._turn_requested = False
        self._paused = False
        self._ended = False
        self._reason: MqkitError | None = None
        self._raw: Any = None
        self._unread = (0, 0)

    def publish_many(
        self, messages: Sequence[Message], timeout_s: float | None
    ) -> list[Future[Outcome]]:
        """See :meth:`mqkit.transport.blocking.BlockingChannel.publish_many`."""
        self._thread.check_process()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        futures: list[Future[Outcome]] = []
        in_time = True
        for message in messages:
            future: Future[Outcome] = Future()
            futures.append(future)
            cost_bytes = len(message.body) + MESSAGE_OVERHEAD_BYTES
            in_time = in_time and self._window.take(
                cost_bytes, deadline=deadline, before_waiting=self._request_turn
            )
            if in_time:
                self._outbox.append(Entry(message, future, cost_bytes))
            else:
                future.set_result(self._not_sent(message))
        self._request_turn()
        return futures

    # ---- on the loop's thread

    def attach(self, raw: Any) -> None:
        """The channel to publish on, open, before anything is published."""
        self._raw = raw
        raw.add_on_return_callback(self._on_return)

    def pause(self, *, paused: bool) -> None:
        """The broker has blocked the connection, or unblocked it."""
        self._paused = paused
        if not paused:
            self._request_turn()

    def on_answer(self, frame: Any) -> None:
        """A ``basic.ack`` or ``basic.nack`` for publishes."""
        answer = frame.method
        told = self._ledger.ack if isinstance(answer, spec.Basic.Ack) else self._ledger.nack
        settled = told(answer.delivery_tag, multiple=answer.multiple)
        for entry, _, [outcome] in settled:
            entry.future.set_result(outcome)
        if settled:
            self._window.give(len(settled), sum(entry.cost_bytes for entry, _, _ in settled))

    def end(self, reason: MqkitError | None) -> None:
        """The channel is closed: everything that waits gets its outcome. Idempotent."""
        if self._ended:
            return
        self._ended = True
        self._reason = reason
        self._window.close()
        for entry, _, [outcome] in self._ledger.close(reason):
            entry.future.set_result(outcome)
        self._empty_outbox()

    def _request_turn(self) -> None:
        if self._turn_requested or not self._outbox:
            return
        self._turn_requested = True
        self._thread.submit(self._turn, self._lost)

    def _turn(self) -> None:
        """Write what waits in the outbox."""
        self._turn_requested = False
        if self._ended:
            self._empty_outbox()
            return
        if self._paused:
            return
        for _ in range(WRITES_PER_TURN):
            try:
                entry = self._outbox.popleft()
            except IndexError:
                return
            self._write(entry)
        self._request_turn()

    def _write(self, entry: Entry) -> None:
        message = entry.message
        try:
            self._raw.basic_publish(
                message.exchange,
                message.routing_key,
                message.body,
                to_pika(message.properties),
                message.mandatory,
            )
        except (pika_errors.ChannelWrongStateError, pika_errors.ConnectionWrongStateError):
            self._done(entry, self._not_sent(message))
        except ENCODING_ERRORS as error:
            words = f"not sent: the message can't be encoded: {error!r}"
            self._done(entry, Rejected(RejectReason.REFUSED, words, message.properties.message_id))
        except BaseException as error:
            self._done(entry, Unknown(f"pika failed: {error!r}", message.properties.message_id))
            raise
        else:
            if self._confirms:
                self._ledger.record((message,), entry)
            else:
                self._written_without_confirm(entry)

    def _written_without_confirm(self, entry: Entry) -> None:
        entry.future.set_result(
            Unknown("published without confirms", entry.message.properties.message_id)
        )
        count, cost_bytes = self._unread[0] + 1, self._unread[1] + entry.cost_bytes
        self._unread = (count, cost_bytes)
        if 2 * count >= self._size.messages or 2 * cost_bytes >= self._size.bytes:
            self._unread = (0, 0)
            self._raw.exchange_declare(
                ROUND_TRIP_EXCHANGE,
                passive=True,
                callback=lambda _: self._window.give(count, cost_bytes),
            )

    def _on_return(self, _: object, method: Any, properties: Any, body: bytes) -> None:
        message = Message(method.exchange, method.routing_key, body, from_pika(properties))
        self._ledger.returned(message, method.reply_code, method.reply_text)

    def _done(self, entry: Entry, result: Outcome) -> None:
        entry.future.set_result(result)
        self._window.give(1, entry.cost_bytes)

    def _lost(self, _: BaseException) -> None:
        """The loop is over before a turn could run. May be called on any thread."""
        self._window.close()
        self._turn_requested = False
        self._empty_outbox()

    def _empty_outbox(self) -> None:
        while True:
            try:
                entry = self._outbox.popleft()
            except IndexError:
                return
            entry.future.set_result(self._not_sent(entry.message))

    def _not_sent(self, message: Message) -> Unknown:
        if not self._ended and not self._window.is_closed:
            why = "the time ran out while the window was full"
        else:
            why = str(self._reason or Closed("the channel was closed by this program"))
        return Unknown(f"not sent: {why}", message.properties.message_id, sent=False)
