"""Heartbeats of one link, both ways: that the peer lives, that it hears us, and what it knows.

::

    sent at u64 | echo u64 | held u64 | silent u64       microseconds of monotonic clocks
    | applied revision u64 | leads u32 | wall ahead i64

``sent at`` and ``silent`` (since the sender last heard the receiver) are the sender's, ``echo`` is
the ``sent at`` of the last heartbeat that it had, or 0, and ``held`` the time since then; ``wall
ahead`` is its wall clock less the clock of ``sent at``, in milliseconds. A later version may append
to it, and what is appended is ignored.

An end that hears nothing takes the link for down. One whose peer hears nothing does so too, by what
the peer's heartbeats said last, whether more of them come or not: so a cable that is cut one way is
noticed at both ends. An end that was away itself, because its thread stood still, concludes nothing
from that: it has to read first what came meanwhile.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from reference_broker.errors import LinkError


class Rhythm(NamedTuple):
    """The times of heartbeats, in seconds."""

    interval_s: float
    """Between two heartbeats."""
    silent_s: float
    """A peer of which nothing came for so long is gone. Any octet counts as heard."""
    unheard_s: float
    """A peer that has heard nothing of us for so long has taken the link for down. It is longer
    than ``silent_s``, so that who is deaf notices first and can say so."""


STRICT = Rhythm(interval_s=0.25, silent_s=2.0, unheard_s=2.5)
"""Of what vouches for a node: both ends know within 3 s. A follower's promise to a leader rides on
these heartbeats and holds for 2 s, so seven may be late or lost."""

LOOSE = Rhythm(interval_s=1.0, silent_s=6.0, unheard_s=7.0)
"""Of a connection that goes by the event loop, while heartbeats on a thread vouch for its node. The
loop may stand for 3 s, and then the thread is missed for 2 s: only a connection that is stuck by
itself is silent for longer, with the 1 s between two heartbeats."""

LATE_S = 0.5
"""Seconds beyond an interval after which whoever looks at heartbeats was away: it stood still."""

READING_S = 0.1
"""Seconds to read what came while this end was away, before it judges or says anything."""

_HEARTBEAT = struct.Struct(">QQQQQIq")
_MICROSECONDS = 1_000_000


class Report(NamedTuple):
    """A node's state, as its heartbeats tell it."""

    applied_revision: int = 0
    """The revision of the metadata that the node has applied."""
    leads: int = 0
    """The number of queues that it leads, for whoever places the next one."""
    wall_ahead_ms: int = 0
    """Its wall clock, less the clock of its heartbeats."""


class Heartbeats:
    """The heartbeats of one link that opened at ``now``. Times are monotonic seconds that go on
    while a machine sleeps (CLOCK_BOOTTIME), always those of this node."""

    __slots__ = (
        "_echo_us",
        "_looked_at",
        "_next_at",
        "_peer_at",
        "_reading_until",
        "_rhythm",
        "answered_at",
        "heard_at",
        "peer",
        "peer_heard_at",
        "round_trip_s",
    )

    def __init__(self, now: float) -> None:
        self._rhythm = STRICT
        self._next_at = now
        self._looked_at = now
        self._reading_until = now
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

    def loosen(self) -> None:
        """Go by :data:`LOOSE` from now on: others vouch for the peer. Idempotent."""
        self._rhythm = LOOSE

    def is_back(self, now: float) -> bool:
        """True if this end was not away, or has had the time to read since then. Ask first at each
        time, and only where that is so for :meth:`fault` and :meth:`beat`."""
        if now - self._looked_at > self._rhythm.interval_s + LATE_S:
            self._reading_until = now + READING_S
        self._looked_at = now
        return now >= self._reading_until

    def beat(self, now: float, report: Report | None) -> bytes | None:
        """The heartbeat to send; ``None`` while none is due, and without a report."""
        if now < self._next_at:
            return None
        self._next_at = now + self._rhythm.interval_s
        if report is None:
            return None
        held = _us(now - self._peer_at) if self._echo_us else 0
        silent = _us(now - self.heard_at)
        return _HEARTBEAT.pack(_us(now), self._echo_us, held, silent, *report)

    def fault(self, now: float) -> str:
        """The reason why the link is down; empty while it is not."""
        _, silent_s, unheard_s = self._rhythm
        if now - self.heard_at >= silent_s:
            return f"nothing came for {silent_s:g} s"
        if now - self.peer_heard_at >= unheard_s:
            return f"the other end has heard nothing of this one for {unheard_s:g} s"
        return ""

    def next_deadline(self) -> float:
        """The time at which to look again."""
        _, silent_s, unheard_s = self._rhythm
        due = min(self._next_at, self.heard_at + silent_s, self.peer_heard_at + unheard_s)
        return max(due, self._reading_until)


def _us(seconds: float) -> int:
    return max(0, int(seconds * _MICROSECONDS))
