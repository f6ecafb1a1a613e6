"""Questions of any thread: one call, one answer, one deadline; never asked twice. As
:mod:`mqkit.rpc.caller`, over the connection that publishes.

    call ── channel of its exchange ──> question out, answer in
               └── none ──> a thread that opens one, which all calls to that exchange wait for

A channel is opened on a thread of its own, so that a broker which is silent then holds nobody up
beyond his deadline.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from mqkit.errors import MqkitError
from mqkit.message import Message
from mqkit.rpc.answers import reply_decoder, value_of
from mqkit.rpc.channel_room import make_room
from mqkit.rpc.questions import lost_call, no_answer, question_of
from mqkit.sync.link import Link
from mqkit.sync.reply_channel import ReplyChannel
from mqkit.timing.clock import wall_ms
from mqkit.transport.blocking import BlockingConnection
from mqkit.transport.waiters import Waiters

if TYPE_CHECKING:
    from mqkit.settings import Settings


class _Opening:
    """A channel that is being opened, and who waits for it."""

    __slots__ = ("error", "waiters")

    def __init__(self) -> None:
        self.waiters = Waiters()
        self.error: MqkitError | None = None


class Caller:
    """Thread-safe. Belongs to one process, as its link does, whose end is its own."""

    def __init__(
        self, link: Link, settings: Settings, *, now_ms: Callable[[], int] = wall_ms
    ) -> None:
        self._link = link
        self._deadline_s = settings.publish_deadline_s
        self._octets_max = settings.max_message_bytes
        self._now_ms = now_ms
        self._lock = threading.RLock()  # a signal handler may call
        self._channels: dict[str, ReplyChannel] = {}
        self._openings: dict[str, _Opening] = {}

    def call(self, message: Message, reply: Any, deadline_s: float | None = None) -> Any:
        """Ask ``message``, and return its answer as a ``reply``.

        Raises as :meth:`mqkit.rpc.caller.Caller.call`, and what lets the first connect fail for
        good (a refused login).
        """
        decode = reply_decoder(reply)
        allowed_s = self._deadline_s if deadline_s is None else deadline_s
        until_s = time.monotonic() + allowed_s
        until_ms = self._now_ms() + int(allowed_s * 1000)
        question = question_of(message, until_ms, self._octets_max)
        self._link.begin()
        try:
            with self._channel(question.exchange, until_s) as channel:
                answer = None if channel is None else channel.ask(question, until_s)
            if answer is None:
                raise no_answer(message, allowed_s, self._link.describe())
        finally:
            self._link.end()
        return value_of(answer, decode)

    @contextmanager
    def _channel(self, exchange: str, until_s: float) -> Iterator[ReplyChannel | None]:
        """The channel of ``exchange`` for the time of the block; ``None`` when the time is over
        first. Raises what opening it did, and as :meth:`Link.lane`."""
        channel = self._taken(exchange, until_s)
        try:
            yield channel
        finally:
            if channel is not None:
                with self._lock:
                    channel.callers -= 1

    def _taken(self, exchange: str, until_s: float) -> ReplyChannel | None:
        while True:
            lane = self._link.lane(until_s, waits_when_blocked=True)
            if lane is None or isinstance(lane, str):
                return None
            self._link.leave(lane)
            with self._lock:
                channel = self._channels.get(exchange)
                if channel is not None and channel.is_open:
                    channel.callers += 1
                    return channel
                opening = self._opening(exchange, lane.connection)
                place = opening.waiters.place()
            left_s = min(max(until_s - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
            if not place.acquire(timeout=left_s):
                with self._lock:
                    opening.waiters.leave(place)
                return None
            if opening.error is not None:
                raise opening.error.with_traceback(None)

    def _opening(self, exchange: str, connection: BlockingConnection) -> _Opening:
        opening = self._openings.get(exchange)
        if opening is None:
            opening = self._openings[exchange] = _Opening()
            threading.Thread(
                target=self._open,
                args=(exchange, connection, opening),
                name="mqkit-sync-call",
                daemon=True,
            ).start()
        return opening

    def _open(self, exchange: str, connection: BlockingConnection, opening: _Opening) -> None:
        """All that the thread does."""
        channel: ReplyChannel | None = None
        try:
            with self._lock:
                unneeded = make_room(self._channels)
            if unneeded is not None:
                with suppress(MqkitError):
                    unneeded.close()
            channel = ReplyChannel.open(connection)
        except MqkitError as error:
            opening.error = lost_call(error)
        except BaseException as error:
            opening.error = MqkitError(f"opening a channel for calls failed: {error!r}")
            raise
        finally:
            with self._lock:
                if channel is not None:
                    self._channels[exchange] = channel
                del self._openings[exchange]
                opening.waiters.wake()
