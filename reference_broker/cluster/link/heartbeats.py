"""Heartbeats of one link, both ways: that the peer lives, that it hears us, and what it knows.

::

    sent at u64 | echo u64 | held u64 | silent u64       microseconds of monotonic clocks
    | applied revision u64 | alarms u8 | leads u32 | wall ahead i64

``sent at`` and ``silent`` (since the sender last heard the receiver) are the sender's, ``echo`` is
the ``sent at`` of the last heartbeat that it had, or 0, and ``held`` the time since then; ``wall
ahead`` is its wall clock less the clock of ``sent at``, in milliseconds. A later version may append
to it, and what is appended is ignored.

An end that hears nothing takes the link for down. One whose peer hears nothing does so too, by what
the peer's heartbeats said last, whether more of them come or not: so a cable that is cut one way is
noticed at both ends.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from reference_broker.errors import LinkError

INTERVAL_S = 0.25
"""Between two heartbeats. A follower's promise to a leader rides on them and holds for 2 s, so
seven may be late or lost."""

SILENT_S = 2.0
"""A peer of which nothing came for so long is gone. Any octet counts as heard."""

UNHEARD_S = 2.5
"""A peer that has heard nothing of us for so long has taken the link for down. It is longer than
:data:`SILENT_S`, so that who is deaf notices first and can say so, and short enough that both ends
know within 3 s."""

_HEARTBEAT = struct.Struct(">QQQQQBIq")
_MICROSECONDS = 1_000_000


class Report(NamedTuple):
    """A node's state, as its heartbeats tell it."""

    applied_revision: int = 0
    """The revision of the metadata that the node has applied."""
    alarms: int = 0
    """A bit for each resource alarm that sounds there."""
    leads: int = 0
    """The number of queues that it leads, for whoever places the next one."""
    wall_ahead_ms: int = 0
    """Its wall clock, less the clock of its heartbeats."""


class Heartbeats:
    """The heartbeats of one link that opened at ``now``. Times are monotonic seconds that go on
    while a machine sleeps (CLOCK_BOOTTIME), always those of this node."""

    __slots__ = (
        "_echo_us",
        "_next_at",
        "_peer_at",
        "answered_at",
        "heard_at",
        "peer",
        "peer_heard_at",
        "round_trip_s",
    )

    def __init__(self, now: float) -> None:
        self._next_at = now
        self._echo_us = 0
        self._peer_at = now
        self.heard_at = now
        """The time at which anything came."""
        self.peer_heard_at = now
        """The time until which the peer has heard us, as far as it has said."""
        self.answered_at = 0.0
        """The time at which that heartbeat was *sent* that the peer answered last. A promise in the
        answer counts from there. 0 before the first answer."""
        self.round_trip_s = 0.0
        """Of the heartbeat that was answered last, without the time that the peer held it."""
        self.peer = Report()

    def hear(self, now: float) -> None:
        """Note that octets came."""
        self.heard_at = now

    def take(self, payload: memoryview, now: float) -> None:
        """Take a heartbeat of the peer. Raises :exc:`LinkError` for what is none."""
        try:
            sent, echo, held, silent, *report = _HEARTBEAT.unpack_from(payload)
        except struct.error as error:
            raise LinkError("a HEARTBEAT that can't be read") from error
        if echo > _us(now):
            raise LinkError("a HEARTBEAT that answers one of the future")
        self._echo_us = sent
        self._peer_at = now
        self.peer = Report(*report)
        self.peer_heard_at = max(self.peer_heard_at, now - silent / _MICROSECONDS)
        if echo:
            self.answered_at = max(self.answered_at, echo / _MICROSECONDS)
            self.round_trip_s = max(0.0, (_us(now) - echo - held) / _MICROSECONDS)

    def peer_wall_ms(self, now: float) -> float:
        """The peer's wall clock now, as its last heartbeat tells it, give or take half of the round
        trip. Ask only after one."""
        sent_ms = self._echo_us / 1_000 + self.peer.wall_ahead_ms
        return sent_ms + (now - self._peer_at + self.round_trip_s / 2) * 1_000

    def beat(self, now: float, report: Report) -> bytes | None:
        """The heartbeat to send; ``None`` while none is due."""
        if now < self._next_at:
            return None
        self._next_at = now + INTERVAL_S
        held = _us(now - self._peer_at) if self._echo_us else 0
        silent = _us(now - self.heard_at)
        return _HEARTBEAT.pack(_us(now), self._echo_us, held, silent, *report)

    def fault(self, now: float) -> str:
        """The reason why the link is down; empty while it is not."""
        if now - self.heard_at >= SILENT_S:
            return f"nothing came for {SILENT_S:g} s"
        if now - self.peer_heard_at >= UNHEARD_S:
            return f"the other end has heard nothing of this one for {UNHEARD_S:g} s"
        return ""

    def next_deadline(self) -> float:
        """The time at which to call :meth:`beat` and :meth:`fault` again."""
        return min(self._next_at, self.heard_at + SILENT_S, self.peer_heard_at + UNHEARD_S)


def _us(seconds: float) -> int:
    return max(0, int(seconds * _MICROSECONDS))
