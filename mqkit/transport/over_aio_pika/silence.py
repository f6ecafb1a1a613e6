"""The end of a connection whose broker is silent: aiormq notices it after three heartbeat intervals
and a half, and two are what both sides were promised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mqkit.transport.heartbeat import Beat, Heartbeat


class Timer(Protocol):
    """As ``loop.call_later`` returns it."""

    def cancel(self) -> None: ...


class SilenceWatch:
    """Looks from the time that it is made, until :meth:`stop`, and calls ``gone`` once when nothing
    was heard for two intervals of ``heartbeat_s`` (0: never). ``heard`` says whether anything was
    since it was last asked. Sending heartbeats is aiormq's."""

    def __init__(
        self,
        heartbeat_s: int,
        call_later: Callable[[float, Callable[[], None]], Timer],
        heard: Callable[[], bool],
        gone: Callable[[], None],
    ) -> None:
        self._heartbeat = Heartbeat(heartbeat_s)
        self._call_later = call_later
        self._heard = heard
        self._gone = gone
        self._timer: Timer | None = None
        self._tick_later()

    def stop(self) -> None:
        """Look no more. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick_later(self) -> None:
        tick_s = self._heartbeat.tick_s
        if tick_s is not None:
            self._timer = self._call_later(tick_s, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._heartbeat.heard = self._heard()
        if self._heartbeat.tick() is Beat.GONE:
            self._gone()
        else:
            self._tick_later()
