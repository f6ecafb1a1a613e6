"""The cluster as the management API of one of its nodes sees it.

It is the :class:`~reference_broker.http.request.peers.Peers` of that API, and knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from reference_broker.cluster.link.link import Link
from reference_broker.cluster.membership.forgetting import Forgetting
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.members import Members
from reference_broker.cluster.membership.records import NodeState
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.questions.answers import Answers, Kind
from reference_broker.cluster.questions.asking import ASK_S, Asking, Fate, Gathered
from reference_broker.cluster.questions.question import Question, TooLong


class Status(NamedTuple):
    """A member of the cluster, as this node sees it: ``state`` is ``running``, ``draining``,
    ``unreachable`` (it is there, and there is no link with it) or ``down``; ``queues`` is the
    number of those whose home it is."""

    node: str
    state: str
    amqp: str
    http: str
    queues: int


class LinkStatus(NamedTuple):
    """This node's link with another one, and the octets that went over it so far."""

    node: str
    sent_bytes: int
    received_bytes: int


class Peers:
    """The other nodes, for the node ``node`` of the cluster ``cluster``."""

    def __init__(
        self,
        cluster: str,
        node: str,
        view: View,
        live_nodes: LiveNodes,
        members: Members,
        links: Mapping[str, Link],
        asking: Asking,
        answers: Answers,
        forgetting: Forgetting,
    ) -> None:
        self.cluster = cluster
        self.node = node
        self.forgetting = forgetting
        self._view = view
        self._live_nodes = live_nodes
        self._members = members
        self._links = links
        self._asking = asking
        self._answers = answers
        self._homes: Mapping[str, int] = {}

    @property
    def fates(self) -> Mapping[Fate, int]:
        """The numbers of questions to one node each, by what became of them."""
        return self._asking.fates

    @property
    def revision(self) -> int:
        """The revision that this node's view is at."""
        return self._view.revision.value

    @property
    def others(self) -> Sequence[str]:
        """The other nodes that are there, in order."""
        return self._live_nodes.others

    def members(self) -> list[Status]:
        """All members, by name."""
        return [
            Status(name, self._state_of(name), record.amqp, record.http, self._homes.get(name, 0))
            for name, record in sorted(self._members.by_name.items())
        ]

    def count_queues(self, homes: Mapping[str, int]) -> None:
        """Take the numbers of queues by home from ``homes``, from now on."""
        self._homes = homes

    def open_links(self) -> list[LinkStatus]:
        """The links that this node has, by the other's name."""
        return [
            LinkStatus(name, sum(link.counts.sent_octets), sum(link.counts.received_octets))
            for name, link in sorted(self._links.items())
        ]

    def _state_of(self, node: str) -> str:
        if not self._live_nodes.is_there(node):
            return "down"
        if node != self.node and node not in self._links:
            return "unreachable"
        record = self._live_nodes.by_name.get(node)
        is_draining = record is not None and record.state is NodeState.DRAINING
        return "draining" if is_draining else "running"

    def ask(
        self,
        nodes: Sequence[str],
        kind: str,
        arguments: dict[str, Any],
        told: Callable[[Gathered], None],
        within_s: float = ASK_S,
    ) -> None:
        """See :meth:`~reference_broker.cluster.questions.asking.Asking.ask`; nobody answers what is
        too long."""
        try:
            self._asking.ask(nodes, Question(kind, arguments), told, within_s)
        except TooLong:
            told(Gathered({}, nodes))

    def answer_with(self, kind: str, answers: Kind) -> None:
        """Have ``answers`` answer questions of that kind from now on."""
        self._answers.answer_with(kind, answers)
