"""The lease of a node: when it is granted, renewed, given back, and when nothing is asked at all.

    NONE --Grant--> GRANTING --granted--> HELD --Renew--> RENEWING --renewed--> HELD
                                                          RENEWING --it is gone--> NONE
    any  --released--> RELEASING --Revoke--> OVER

One request at a time. Whoever carries them out calls :meth:`Lease.tick` after each answer and at
:attr:`Lease.next_at`. While the node's main loop stands still nothing is asked: a lease that goes
on for a node that does not would keep a dead leader in office.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from reference_broker.cluster.coordinator import LeaseListener

STANDING_S = 3.0
"""Seconds without a beat of the main loop after which it stands still: longer than any turn that
ends by itself, shorter than the time to live of a lease."""

RENEWALS = 3
"""Renewals in a lease's time to live: two may go astray."""

TRIES = 4
"""Requests that fit into a time to live one after another: one that has no answer must leave time
for the next, at another endpoint."""

RETRY_S = 0.25
"""Seconds between a request that failed and the next one, and between two looks at a main loop that
stands still. A refused connection fails at once."""


class Grant(NamedTuple):
    """Ask for a lease of ``ttl_s`` seconds."""

    ttl_s: int


class Renew(NamedTuple):
    """Have ``lease`` begin its time to live anew."""

    lease: int


class Revoke(NamedTuple):
    """End ``lease`` now."""

    lease: int


Request = Grant | Renew | Revoke


class LeaseState(Enum):
    """The states of a lease that is kept."""

    NONE = auto()
    GRANTING = auto()
    HELD = auto()
    RENEWING = auto()
    RELEASING = auto()
    OVER = auto()


_UNDER_WAY = (LeaseState.GRANTING, LeaseState.RENEWING)


class Lease:
    """A lease that is kept until it is released. Times are seconds of one clock that goes on while
    the machine sleeps."""

    next_at: float
    """The time of the next :meth:`tick` that may ask for something."""

    def __init__(self, ttl_s: int, listener: LeaseListener, now: float) -> None:
        self.state = LeaseState.NONE
        self.lease = 0
        self.next_at = now
        self.ends_at = 0.0
        """The time at which the lease has run out, if the store has not answered by then; 0 while
        there is none."""
        self._ttl_s = ttl_s
        self._listener = listener
        self.answered_at = now
        """The time at which the request was made that was answered last, whatever the answer."""
        self._asked_at = now
        self._granted_ttl_s = ttl_s
        self._released = False

    @property
    def answer_within_s(self) -> float:
        """Seconds that one endpoint has for an answer."""
        return self._granted_ttl_s / TRIES

    def tick(self, now: float, beat_at: float) -> Request | None:
        """The request to carry out now, if there is one. ``beat_at`` is when the main loop went
        round for the last time."""
        if self.state is LeaseState.RELEASING:
            self.state = LeaseState.OVER
            return Revoke(self.lease)
        if now < self.next_at or self.state not in (LeaseState.NONE, LeaseState.HELD):
            return None
        if now - beat_at > STANDING_S:
            self.next_at = now + RETRY_S
            return None
        self._asked_at = now
        if self.state is LeaseState.NONE:
            self.state = LeaseState.GRANTING
            return Grant(self._ttl_s)
        self.state = LeaseState.RENEWING
        return Renew(self.lease)

    def granted(self, lease: int, ttl_s: int) -> None:
        """The answer to :class:`Grant`. The store may grant more seconds than were asked for."""
        assert self.state is LeaseState.GRANTING
        self.answered_at = self._asked_at
        # A store that grants more is asked as often: its answers say that it is there.
        self.lease, self._granted_ttl_s = lease, max(1, min(ttl_s, self._ttl_s))
        if self._released:
            self.state = LeaseState.RELEASING
            return
        self._hold()
        self._listener.lease_granted(lease)

    def renewed(self, ttl_s: int) -> None:
        """The answer to :class:`Renew`; 0 seconds: the lease is gone."""
        assert self.state is LeaseState.RENEWING
        self.answered_at = self._asked_at
        ended = self.lease
        if ttl_s == 0:
            self.lease, self.ends_at = 0, 0.0
        if self._released:
            self._end()
        elif self.lease:
            self._hold()
        else:
            self.state = LeaseState.NONE
            self.next_at = self._asked_at
            self._listener.lease_ended(ended)

    def failed(self, now: float) -> None:
        """There was no answer. Nothing is concluded from that: the store may have gone on, and
        its clocks may begin anew when it comes back."""
        if self.state is LeaseState.OVER:
            return  # the lease runs out by itself
        assert self.state in _UNDER_WAY
        self.state = LeaseState.HELD if self.lease else LeaseState.NONE
        self.next_at = now + RETRY_S
        if self._released:
            self._end()

    def release(self) -> None:
        """Give the lease back, after the answer that is under way. The listener is told nothing
        more. Idempotent."""
        if self._released:
            return
        self._released = True
        if self.state not in _UNDER_WAY:
            self._end()

    def _hold(self) -> None:
        self.state = LeaseState.HELD
        # From when it was asked: the store's clock began somewhere between then and now.
        self.next_at = self._asked_at + self._granted_ttl_s / RENEWALS
        self.ends_at = self._asked_at + self._granted_ttl_s

    def _end(self) -> None:
        self.state = LeaseState.RELEASING if self.lease else LeaseState.OVER
        self.ends_at = 0.0
