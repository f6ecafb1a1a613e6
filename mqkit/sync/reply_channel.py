"""A blocking channel on which questions of any thread go out, and their answers come back: as
:mod:`mqkit.rpc.reply_channel`, and the calling thread does the waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from mqkit.errors import CallRejected, Closed, ConnectionLost, MqkitError
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome, Rejected, Unknown
from mqkit.rpc.headers import DIRECT_REPLY_TO
from mqkit.rpc.questions import lost_call
from mqkit.transport.blocking import BlockingChannel, BlockingConnection


class _Asked:
    """A question that a thread waits for. Who takes it out of its channel's table settles it, so
    that this happens once."""

    __slots__ = ("_settled", "answer", "is_confirmed")

    def __init__(self) -> None:
        self.answer: Delivery | MqkitError | None = None
        self.is_confirmed = False
        """True once the broker has it: from then on its channel's end is all that it hears."""
        self._settled = threading.Lock()
        self._settled.acquire()

    def settle(self, answer: Delivery | MqkitError) -> None:
        self.answer = answer
        self._settled.release()

    def wait(self, until_s: float) -> None:
        left_s = min(max(until_s - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
        self._settled.acquire(timeout=left_s)


class ReplyChannel:
    """Make one with :meth:`open`. Thread-safe."""

    def __init__(self, channel: BlockingChannel) -> None:
        self._channel = channel
        self._asked: dict[str, _Asked] = {}
        self._end: MqkitError | None = None
        self.callers = 0
        """The number of threads that have it, which its owner counts."""

    @classmethod
    def open(cls, connection: BlockingConnection) -> ReplyChannel:
        """Open a channel, and consume from it what the broker sends to its address. Raises what the
        connection does, and what the broker refuses."""
        channel = connection.channel(confirms=True)
        opened = cls(channel)
        try:
            channel.consume(DIRECT_REPLY_TO, opened._answered, no_ack=True)
        except BaseException:
            with suppress(MqkitError):
                channel.close()
            raise
        channel.on_closed(opened._closed)
        return opened

    @property
    def is_open(self) -> bool:
        """False once no question can be asked here any more."""
        return self._end is None and self._channel.is_open

    @property
    def is_idle(self) -> bool:
        """True when no thread has it."""
        return not self.callers

    def ask(self, question: Message, until_s: float) -> Delivery | None:
        """Send ``question``, whose correlation id no other has, and return its answer; ``None``
        when the time (by ``time.monotonic``) is over first.

        Raises :exc:`~mqkit.errors.CallRejected` where the broker refuses the question, and
        :exc:`~mqkit.errors.ConnectionLost` or :exc:`~mqkit.errors.Closed` when the channel ends.
        """
        correlation_id = question.properties.correlation_id
        assert correlation_id is not None
        asked = self._asked[correlation_id] = _Asked()
        try:
            left_s = max(until_s - time.monotonic(), 0.0)
            told = partial(self._published, correlation_id)
            self._channel.publish_run((question,), told, timeout_s=left_s)
            asked.wait(until_s)
        finally:
            self._asked.pop(correlation_id, None)
        if isinstance(asked.answer, MqkitError):
            raise asked.answer
        return asked.answer

    def close(self) -> None:
        """Close the channel; questions under way raise :exc:`~mqkit.errors.Closed`. Idempotent.
        Raises what the connection does where the broker does not answer."""
        self._end = self._end or Closed("the app is closed")
        self._channel.close()

    # -- on whatever thread ------------------------------------------------------------------

    def _published(self, correlation_id: str, _: int, outcomes: Sequence[Outcome]) -> None:
        match outcomes[0]:
            case Rejected() as rejected:
                self._settle(correlation_id, CallRejected(rejected))
            case Unknown(detail) as unknown:
                if unknown.sent or not self.is_open:
                    self._settle(correlation_id, self._lost(ConnectionLost(detail)))
                # Else there was no room for it in the channel's window, and its time is over.
            case _:
                asked = self._asked.get(correlation_id)
                if asked is not None:
                    asked.is_confirmed = True
                if self._end is not None:
                    self._settle(correlation_id, self._lost(self._end))

    def _answered(self, delivery: Delivery) -> None:
        self._settle(delivery.properties.correlation_id or "", delivery)

    def _closed(self, error: MqkitError | None) -> None:
        self._end = self._end or error or Closed("the app is closed")
        # Whatever is not confirmed yet gets an outcome of its own: the one that the channel was
        # closed for has the broker's reason in it.
        for correlation_id, asked in list(self._asked.items()):
            if asked.is_confirmed:
                self._settle(correlation_id, self._lost(self._end))

    def _lost(self, end: MqkitError) -> MqkitError:
        return lost_call(self._end if isinstance(self._end, Closed) else end)

    def _settle(self, correlation_id: str, answer: Delivery | MqkitError) -> None:
        asked = self._asked.pop(correlation_id, None)
        if asked is not None:
            asked.settle(answer)
