"""The forgetting of a node that is down for good: it is a member no more, and its disk may not come
back.

One transaction: the node's row and what numbers its proposals go, and its disk is noted under
``forgotten/``, if nobody of that name has come back meanwhile. So it is done or not, whoever dies;
a run of the node that is cut off from all others finds its next proposal refused, and ends. Its
queues follow: whichever node removes leftovers deletes them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import partial
from typing import Protocol

from reference_broker.cluster.coordinator import Compare, Delete, Put
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.records import MemberRecord
from reference_broker.cluster.metadata.agreeing import conclude
from reference_broker.cluster.metadata.keys import FORGOTTEN, LIVE, MEMBERS, PROPOSALS
from reference_broker.cluster.metadata.proposals import Proposals
from reference_broker.cluster.metadata.view import View
from reference_broker.core.work.until import Agreement
from reference_broker.errors import MemberStays, NoSuchMember


class ForgettingNode(Protocol):
    """The node that is asked to forget others."""

    name: str
    view: View
    proposals: Proposals
    live_nodes: LiveNodes


class Forgetting:
    """Forgets other nodes than ``own``. ``members`` are the nodes that have joined, ``links`` those
    that this one has a link with, and ``durable_queues`` the numbers of durable queues, by home."""

    def __init__(
        self,
        own: ForgettingNode,
        members: Mapping[str, MemberRecord],
        links: Container[str],
        durable_queues: Callable[[str], int],
    ) -> None:
        self._own = own
        self._members = members
        self._links = links
        self.durable_queues = durable_queues
        self._emptied: list[tuple[str, Callable[[], None]]] = []
        own.view.listen(self._look)

    def forget(self, node: str, *, accepts_loss: bool) -> Agreement:
        """Ask etcd to have ``node`` be a member no more; returns the end of that. Where it was not
        agreed, ask again: the node has just come back, or somebody else was quicker.

        Raises :exc:`NoSuchMember`; and :exc:`MemberStays` for this node, for one that is there, and
        for one with durable queues unless the caller ``accepts_loss``.
        """
        member = self._members.get(node)
        if member is None:
            raise NoSuchMember(f"there is no node {node!r} in the cluster")
        if node == self._own.name:
            raise MemberStays(f"node {node!r} can't forget itself: stop it, and ask another one")
        if self._own.live_nodes.is_there(node) or node in self._links:
            raise MemberStays(f"node {node!r} is there: stop it before it is forgotten")
        queues = self.durable_queues(node)
        if queues and not accepts_loss:
            raise MemberStays(
                f"node {node!r} is the home of {queues} durable queues, which are deleted with it,"
                " and their messages are lost: accept the data loss (--accept-data-loss)"
            )
        agreement, view = Agreement(is_new=False), self._own.view
        row, number = MEMBERS + node, PROPOSALS + node
        self._own.proposals.propose(
            (
                Compare(row, view.revision_of(row)),
                Compare(number, view.revision_of(number)),
                Compare(LIVE + node, 0),
            ),
            (
                Delete(row),
                Delete(number),
                Put(FORGOTTEN + member.disk_id, node.encode()),
            ),
            partial(conclude, agreement, view),
        )
        return agreement

    def when_emptied(self, node: str, emptied: Callable[[], None]) -> None:
        """Call ``emptied`` once when this node's view has no durable queue of ``node``, which may
        be now: they go in portions once it is forgotten."""
        self._emptied.append((node, emptied))
        self._look()

    def _look(self) -> None:
        for each in list(self._emptied):
            node, emptied = each
            if not self.durable_queues(node):
                self._emptied.remove(each)
                emptied()
