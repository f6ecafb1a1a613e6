"""The watch of a node for its own isolation: it looks at etcd and at its links twice a second."""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.cluster.isolation import (
    PATIENCE_S,
    Isolation,
    IsolationOwner,
    IsolationState,
    Surroundings,
)
from reference_broker.cluster.link.shell import LinkShell
from reference_broker.cluster.membership.members import Members
from reference_broker.cluster.mesh import Mesh
from reference_broker.cluster.pause import Timer
from reference_broker.core.base.deadlines import Deadline

LOOK_EVERY_S = 0.5
"""Seconds between two looks."""


class IsolationWatch:
    """Tells ``owner`` when the node is cut off, and when it is not any more. ``etcd_answered_at``
    gives :attr:`~reference_broker.cluster.node.ClusterNode.etcd_answered_at`, by the clock of
    ``shell``. It begins with :meth:`begin`."""

    def __init__(
        self,
        etcd_answered_at: Callable[[], float],
        members: Members,
        mesh: Mesh,
        shell: LinkShell,
        after: Timer,
        owner: IsolationOwner,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._etcd_answered_at = etcd_answered_at
        self._members = members
        self._mesh = mesh
        self._shell = shell
        self._after = after
        self._owner = owner
        self._patience_s = patience_s
        self._isolation: Isolation | None = None
        self._next: Deadline | None = None

    @property
    def is_paused(self) -> bool:
        """True while the owner is to have no clients."""
        return self._isolation is not None and self._isolation.state is IsolationState.PAUSED

    def begin(self) -> None:
        """The node serves clients from now on. To be called once."""
        self._isolation = Isolation(self._owner, self._shell.now(), self._patience_s)
        self._next = self._after(LOOK_EVERY_S, self._look)

    def end(self) -> None:
        """Look no more. Idempotent."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _look(self) -> None:
        assert self._isolation is not None
        self._next = self._after(LOOK_EVERY_S, self._look)
        members = self._members.by_name
        linked = sum(name in members for name in self._mesh.last_heard)
        around = Surroundings(self._etcd_answered_at(), linked, len(members))
        self._isolation.look(self._shell.now(), around)
