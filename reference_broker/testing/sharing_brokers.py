"""Brokers of several nodes, whose definitions are one; without links and sockets, and with an etcd
that answers when it is told to.

    nodes = SharingBrokers("a", "b")
    client = nodes["a"].lone.client()
    client.send(1, QueueDeclare("q"))
    assert client.received() == []
    nodes.settle()
    assert client.methods() == [QueueDeclareOk("q", 0, 0)]
    assert "q" in nodes["b"].lone.broker.vhosts["/"].queues

A node whose ``hears`` is false is told nothing of what the others do: it is there, and its view is
old. ``refusal`` is what etcd says to every request, while it is not ``None``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reference_broker.cluster.coordinator import (
    Delete,
    Event,
    Lost,
    Outcome,
    Put,
    Transaction,
    Won,
)
from reference_broker.cluster.definitions.node_definitions import NodeDefinitions
from reference_broker.cluster.definitions.shared_definitions import SharedDefinitions
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.records import LiveRecord, MemberRecord, NodeState, encoded
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.keys import LIVE, MEMBERS
from reference_broker.cluster.metadata.proposals import Proposals
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.queues.queue_links import QueueLinks
from reference_broker.core.access.users import User, hash_password
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.journal.journal import Journal
from reference_broker.core.work.budget import UNLIMITED_UNITS
from reference_broker.core.work.task import Steps, agreed
from reference_broker.testing.hand_clock import HandClock
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.scripted_coordinator import ScriptedCoordinator

RUN = 1


@dataclass(slots=True)
class Written:
    """A key in etcd."""

    value: bytes
    revision: int


class SharingNode:
    """The node ``name``, with the broker ``lone.broker``."""

    def __init__(
        self,
        name: str,
        number: int,
        clock: HandClock,
        journal: Journal | None = None,
        units: int = UNLIMITED_UNITS,
    ) -> None:
        self.name = name
        self.number = number
        self.run = RUN
        self.hears = True
        self.told = 0
        """The revision up to which the node was told everything."""
        self.etcd = ScriptedCoordinator()
        self.view = View()
        self.barrier = Barrier(self.view)
        self.reports: list[str] = []
        self.live_nodes = LiveNodes(name, self.barrier, self.reports.append)
        self.view.follow(LIVE, self.live_nodes)
        self.view.listen(self.barrier.advance)
        self.proposals = Proposals(
            self.etcd,
            "",
            self.view,
            clock.after,
            name,
            RUN,
            lambda: self.reports.append("ended"),
            lambda seen, found: self.reports.append(f"gone back from {seen} to {found}"),
        )
        self.shared = SharedDefinitions()
        self.lone = LoneBroker(journal, units=units, shared_definitions=self.shared)
        self.lone.broker.ids.take_block(number)
        self.looked_at: dict[Link, None] = {}
        """Links that have something to be written."""
        self.queue_links = QueueLinks(self.lone.broker, self.view.revision, self._look_at)
        self.queue_links.join(number)
        self.definitions = NodeDefinitions(
            self.lone.broker,
            self.shared,
            self,
            self.queue_links,
            clock.after,
            self.reports.append,
        )

    def _look_at(self, link: Link) -> None:
        self.looked_at[link] = None

    def take(self, events: list[Event], revision: int) -> Steps:
        """The steps of applying a transaction."""
        yield from self.view.take(events)
        self.view.reach(revision)


class SharingBrokers:
    """The nodes, by name; each is there, and ``guest`` may do everything. ``rows`` is what etcd
    has; :meth:`settle` has it answer everything, :meth:`carry_out` one request. ``journals`` are
    those of some nodes, and ``units`` what a turn of each has."""

    def __init__(
        self,
        *names: str,
        journals: Mapping[str, Journal] | None = None,
        units: int = UNLIMITED_UNITS,
    ) -> None:
        self.clock = HandClock()
        self.rows: dict[str, Written] = {}
        self.refusal: Outcome | None = None
        self._history: list[tuple[int, list[Event]]] = []
        self.revision = 1
        self.nodes = {
            name: SharingNode(name, number, self.clock, (journals or {}).get(name), units)
            for number, name in enumerate(names, 1)
        }
        for name in names:
            live = encoded(LiveRecord(RUN, NodeState.UP, ""))
            member = MemberRecord(self.nodes[name].number, name, RUN, name, 0, "", "")
            self.write(Put(MEMBERS + name, encoded(member)), Put(LIVE + name, live))
        for node in self.nodes.values():
            node.proposals.begin()
        self.settle()
        self._found(self.nodes[names[0]])

    def __getitem__(self, name: str) -> SharingNode:
        return self.nodes[name]

    def _found(self, node: SharingNode) -> None:
        broker = node.lone.broker
        guest = User("guest", hash_password(b"guest", b"salt"), loopback_only=True)
        for act in (
            lambda: broker.add_vhost("/", VHostInfo()),
            lambda: broker.access.store_user(guest),
            lambda: broker.access.allow_everything("guest", "/"),
        ):
            broker.work.start(agreed(act), "")
            self.settle()

    @property
    def definitions(self) -> list[str]:
        """The keys of all definitions in etcd, in order."""
        return sorted(key for key in self.rows if key.startswith("def/"))

    # etcd

    def write(self, *changes: Put | Delete) -> int:
        """Carry out changes that no node has asked for; returns the revision."""
        self.revision += 1
        events = []
        for change in changes:
            if isinstance(change, Put):
                self.rows[change.key] = Written(change.value, self.revision)
                events.append(Event(change.key, change.value, self.revision))
            elif self.rows.pop(change.key, None) is not None:
                events.append(Event(change.key, None, self.revision))
        self._history.append((self.revision, events))
        return self.revision

    def carry_out(self, node: SharingNode) -> None:
        """Answer the node's oldest request."""
        transaction = node.etcd.asked[0].transaction
        outcome = self.refusal or self._outcome(transaction)
        node.etcd.answer(outcome)

    def _outcome(self, transaction: Transaction) -> Outcome:
        for key, revision in transaction.compares:
            found = self.rows.get(key)
            if (0 if found is None else found.revision) != revision:
                return Lost(self.revision)
        return Won(self.write(*transaction.changes))

    def settle(self) -> None:
        """Have everything be answered, told and done that can be."""
        moved = True
        while moved:
            moved = self.pass_on()
            for node in self.nodes.values():
                node.lone.complete()

    def pass_on(self) -> bool:
        """Have etcd answer a request of each node, and tell what they have changed; false if there
        was nothing."""
        moved = False
        for node in self.nodes.values():
            if node.etcd.asked:
                self.carry_out(node)
                moved = True
            moved = self._tell(node) or moved
        self._tell_applied()
        return moved

    def _tell(self, node: SharingNode) -> bool:
        if not node.hears:
            return False
        moved = False
        for revision, events in self._history:
            if revision > node.told:
                node.told = revision
                node.lone.broker.work.start(node.take(events, revision), "")
                node.lone.complete()
                moved = True
        return moved

    def _tell_applied(self) -> None:
        for node in self.nodes.values():
            for other in self.nodes.values():
                if other is not node:
                    node.barrier.applied(other.name, other.view.revision.value)
