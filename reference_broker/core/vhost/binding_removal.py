"""The removal of bindings that have lost an end, in portions.

The object that they were bound to or from is gone by then, from the topology and from the journal.
Until its bindings are, a route passes over them, but its name must not be declared again: a binding
to it would be taken for one that is still there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.core.exchange.binding import Binding
    from reference_broker.core.vhost.topology import Topology
    from reference_broker.core.work.budget import Budget

BINDING_REMOVAL_UNITS = 2
"""A binding that is removed: its record, and its place in three indexes."""


class BindingRemoval:
    """Bindings of a :class:`~reference_broker.core.vhost.topology.Topology` that are to go, and
    with the last one from it each auto-delete exchange, whose own bindings join them: a work list
    and no recursion, since a chain of such exchanges may be long. A binding that is removed
    otherwise meanwhile is passed over."""

    __slots__ = ("_doomed", "_topology")

    def __init__(self, topology: Topology, bindings: Iterable[Binding]) -> None:
        self._topology = topology
        self._doomed = deque(bindings)

    def __len__(self) -> int:
        """Bindings that are on the list by now."""
        return len(self._doomed)

    def advance(self, budget: Budget) -> bool:
        """Remove bindings until the ``budget`` is spent; true when none is left. Call it again in a
        later turn while it is false."""
        doomed, topology = self._doomed, self._topology
        while doomed and budget.left > 0:
            budget.left -= BINDING_REMOVAL_UNITS
            doomed.extend(topology.remove_binding(doomed.popleft()))
        topology.changed()
        return not doomed
