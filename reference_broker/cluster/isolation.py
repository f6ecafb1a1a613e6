"""The decision of a node that is cut off: it lets its clients go, so that they connect where
something is agreed on and confirmed.

    SERVING --cut off--> DOUBTING --patience over--> PAUSED
       ^                    |                           |
       +------reached-------+----------reached----------+

A node reaches its cluster while etcd answers it, or while it is linked with so many members that
they are a majority together with it. So nobody pauses for an etcd that is away for all, while the
links are whole, nor for links, while etcd answers.

[T] A node that stood still itself, with its machine, has reached nobody meanwhile, and concludes
nothing from that: its patience begins anew.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import NamedTuple, Protocol

from reference_broker.core.base.transitions import TransitionTable

PATIENCE_S = 10.0
"""Seconds without either, after which the clients go: an etcd has another leader, and a link that
was lost is there again, in a few of them."""

ETCD_SILENT_S = 4.0
"""Seconds after the last request that etcd has answered for which it is taken for there. Its lease
is asked for each 1.7 s, and again after 1.5 s without an answer."""

AWAY_S = 2.0
"""Seconds between two looks after which the node itself was away: it looks twice a second."""


@unique
class IsolationState(Enum):
    """See the picture at the top of the module."""

    SERVING = "the cluster is reached"
    DOUBTING = "neither etcd nor a majority is reached, but not for long"
    PAUSED = "the clients are gone, and none is accepted"


@unique
class IsolationEvent(Enum):
    """The outcome of a look."""

    REACHED = "etcd answers, or a majority is linked"
    CUT_OFF = "neither"
    PATIENCE_OVER = "neither, for so long that the clients have to go"


_S, _E = IsolationState, IsolationEvent

ISOLATION_TABLE = TransitionTable(
    {
        (_S.SERVING, _E.REACHED): _S.SERVING,
        (_S.SERVING, _E.CUT_OFF): _S.DOUBTING,
        (_S.DOUBTING, _E.REACHED): _S.SERVING,
        (_S.DOUBTING, _E.CUT_OFF): _S.DOUBTING,
        (_S.DOUBTING, _E.PATIENCE_OVER): _S.PAUSED,
        (_S.PAUSED, _E.REACHED): _S.SERVING,
        (_S.PAUSED, _E.CUT_OFF): _S.PAUSED,
    }
)


class Surroundings(NamedTuple):
    """The cluster, as a node sees it just now. ``members`` have joined, whether they are there or
    not, and ``linked`` of them are linked with this one, which is a member, too."""

    etcd_answered_at: float
    """The time at which that request was sent which etcd has answered last."""
    linked: int
    members: int

    @property
    def has_majority(self) -> bool:
        """True if this node and those that it is linked with are more than half."""
        return (self.linked + 1) * 2 > self.members


class IsolationOwner(Protocol):
    """Whoever has the clients."""

    def cut_off(self, reason: str) -> None:
        """Close the clients' connections, for ``reason``, and accept none until
        :meth:`reached`."""
        ...

    def reached(self) -> None:
        """Accept clients again."""
        ...


class Isolation:
    """The decision of one node, which serves since ``now``. Times are seconds of a clock that goes
    on while the machine sleeps."""

    def __init__(self, owner: IsolationOwner, now: float, patience_s: float = PATIENCE_S) -> None:
        self.state = IsolationState.SERVING
        self.since = now
        """The last time at which the cluster was reached, or the node itself came back."""
        self._owner = owner
        self._patience_s = patience_s
        self._looked_at = now

    def look(self, now: float, around: Surroundings) -> None:
        """Look at the cluster, more than once in :data:`AWAY_S`. The owner is told of what follows,
        within this call."""
        was_away = now - self._looked_at > AWAY_S
        self._looked_at = now
        self.since = max(self.since, around.etcd_answered_at)
        if around.has_majority:
            self.since = now
        if around.has_majority or now - around.etcd_answered_at < ETCD_SILENT_S:
            self._pass(IsolationEvent.REACHED)
            return
        if was_away:
            self.since = now
        self._pass(IsolationEvent.CUT_OFF)
        is_over = now - self.since >= self._patience_s
        if is_over and self.state is IsolationState.DOUBTING:
            self._pass(IsolationEvent.PATIENCE_OVER)

    def _pass(self, event: IsolationEvent) -> None:
        was, self.state = self.state, ISOLATION_TABLE.after(self.state, event)
        if self.state is was:
            return
        if self.state is IsolationState.PAUSED:
            self._owner.cut_off(
                f"for {self._patience_s:g} s it has reached neither etcd nor a majority of its"
                " cluster's members"
            )
        elif was is IsolationState.PAUSED:
            self._owner.reached()
