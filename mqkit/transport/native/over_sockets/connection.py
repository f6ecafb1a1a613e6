"""The connection of the blocking seam, on a native connection and a plain socket."""

from __future__ import annotations

import time
from concurrent.futures import Future

from mqkit.transport.native.channel import NativeChannel
from mqkit.transport.native.connection import NativeConnection
from mqkit.transport.native.over_sockets.answers import guarded
from mqkit.transport.native.over_sockets.channel import NativeBlockingChannel
from mqkit.transport.native.over_sockets.driver import SocketDriver
from mqkit.transport.native.replies import Promise
from mqkit.transport.seam import OnBlocked, OnClosed
from mqkit.transport.window_size import WindowSize

CLOSE_TIMEOUT_S = 5.0
"""A broker that has blocked us may read nothing, a close neither: then the socket is dropped."""


class NativeBlockingConnection:
    """A :class:`mqkit.transport.blocking.BlockingConnection`. Get one from
    ``NativeBlockingTransport``."""

    def __init__(self, driver: SocketDriver, window: WindowSize, call_timeout_s: float) -> None:
        self._driver = driver
        self._connection = driver.connection
        self._window = window
        self._call_timeout_s = call_timeout_s
        self._channels: list[NativeBlockingChannel] = []
        self._blocked: tuple[float, float | None] = (0.0, None)
        """Seconds of being blocked before, and the start of being blocked now, if it is."""
        driver.turn(self._watch)

    @property
    def is_open(self) -> bool:
        return self._connection.is_open

    @property
    def server_properties(self) -> dict[str, object]:
        return dict(self._connection.server_properties)

    @property
    def blocked_s(self) -> float:
        """For how many seconds in all the broker has had this connection blocked so far."""
        before_s, since_s = self._blocked
        return before_s if since_s is None else before_s + time.monotonic() - since_s

    def channel(self, *, confirms: bool = False) -> NativeBlockingChannel:
        opened: list[NativeChannel] = []

        def start(connection: NativeConnection, answer: Promise) -> None:
            opened.append(connection.open_channel(confirms=confirms, promise=answer))

        try:
            self._driver.ask("opening a channel", self._call_timeout_s, start)
        except BaseException:
            self._driver.turn(lambda _: _close_all(opened))
            raise
        return self._driver.turn(lambda _: self._opened(opened[0]))

    def close(self) -> None:
        """Idempotent; closes the channels too. Returns when it is closed: after about
        :data:`CLOSE_TIMEOUT_S` seconds at the latest, then without the broker's consent. It does
        not wait in a callback, and does nothing in a forked child, whose it is not."""
        if not self._driver.is_in_own_process():
            return
        closed: Future[None] = Future()
        self._driver.turn(lambda connection: connection.close(closed))
        self._driver.join(CLOSE_TIMEOUT_S)
        if not (closed.done() or self._driver.is_current()):
            self._driver.abort()
            self._driver.join(CLOSE_TIMEOUT_S)

    def on_blocked(self, callback: OnBlocked) -> None:
        told, later = guarded(callback), self._driver.later
        self._driver.turn(
            lambda connection: connection.on_blocked(lambda reason: later(told, reason))
        )

    def on_closed(self, callback: OnClosed) -> None:
        told, later = guarded(callback), self._driver.later
        self._driver.turn(lambda connection: connection.on_closed(lambda error: later(told, error)))

    # -- in a turn ---------------------------------------------------------------------------

    def _watch(self, connection: NativeConnection) -> None:
        connection.on_blocked(self._told_blocked)
        connection.on_closed(lambda _: self._stop_the_clock())

    def _opened(self, opened: NativeChannel) -> NativeBlockingChannel:
        channel = NativeBlockingChannel(self._driver, opened, self._window, self._call_timeout_s)
        self._channels = [known for known in self._channels if known.is_open] + [channel]
        return channel

    def _told_blocked(self, reason: str | None) -> None:
        if reason is None:
            self._stop_the_clock()
            for channel in self._channels:
                channel.unblocked()
        elif self._blocked[1] is None:
            self._blocked = (self._blocked[0], time.monotonic())

    def _stop_the_clock(self) -> None:
        self._blocked = (self.blocked_s, None)


def _close_all(channels: list[NativeChannel]) -> None:
    for channel in channels:
        channel.close()
