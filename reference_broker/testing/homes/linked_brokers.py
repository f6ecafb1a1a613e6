"""Brokers of several nodes that share their definitions, and have links in memory.

    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    number = nodes["a"].queue_links.home("b").publish([queue.id], content)
    nodes.settle()
    assert nodes["a"].queue_links.home("b").confirmed.value == number

Nothing moves but by :meth:`LinkedBrokers.settle`, or a :meth:`LinkedBrokers.turn` of it. A call of
a home is an input of its node: see :meth:`LinkedBrokers.act`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from mqkit.wire.methods import QueueDeclare
from reference_broker.cluster.link.connection_numbers import ConnectionNumbers
from reference_broker.cluster.link.handshake import Identity, Role
from reference_broker.cluster.link.heartbeats import Report
from reference_broker.cluster.link.hello import NONCE_BYTES, Hello
from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.link.link import Link, Receiver
from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.mesh import APPLIED
from reference_broker.core.journal.journal import Journal
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.budget import UNLIMITED_UNITS
from reference_broker.errors import LinkError
from reference_broker.testing.sharing_brokers import SharingBrokers, SharingNode

_T = TypeVar("_T")

_NOW = 1_000.0
_REVISION = struct.Struct(">Q")


class CableEnd:
    """One end of a cable: the link there, and its owner, who hands all to the node's queues."""

    def __init__(self, node: SharingNode, role: Role, connection: int) -> None:
        self.node = node
        number = node.number
        hello = Hello("c", node.name, number, f"disk-{node.name}", 1, connection, f"{node.name}:1")
        identity = Identity(hello, Secret(b"secret"), role.value.ljust(NONCE_BYTES, b"."))
        self.way = bytearray()
        """Octets that are under way to the other end."""
        self.is_open = False
        self._told = 0
        self.link = Link(role, identity, ConnectionNumbers(), self, _NOW)

    # The owner of the link

    def link_open(self, link: Link) -> None:
        self.is_open = True
        self.flush()
        self.node.queue_links.link_open(link)

    def link_down(self, link: Link) -> None:
        self.is_open = False
        self.node.queue_links.link_down(link)

    def heartbeat(self, link: Link) -> None:
        pass

    def report_for(self, link: Link) -> Report | None:
        return Report()

    def asked(self, link: Link, token: int, question: memoryview) -> None:
        link.end("a question that nobody knows")

    def receivers(self, link: Link) -> Mapping[Lane, Receiver]:
        return {lane: partial(self._receive, link, lane) for lane in Lane}

    def _receive(self, link: Link, lane: Lane, kind: int, payload: memoryview) -> None:
        if lane is not Lane.CONTROL:
            self.node.queue_links.receive(link, lane, kind, payload)
        elif kind == APPLIED:
            self.node.queue_links.applied(link, _REVISION.unpack(payload)[0])
        else:
            raise LinkError(f"control of kind {kind}")

    def flush(self) -> None:
        """Tell the other end how far the view is."""
        revision = self.node.view.revision.value
        if self.is_open and revision != self._told:
            self._told = revision
            self.link.send(Lane.CONTROL, APPLIED, (_REVISION.pack(revision),))


class Cable:
    """The cable of two nodes, while it is whole. ``rate`` is the octets that arrive in one turn at
    either end."""

    def __init__(self, a: SharingNode, b: SharingNode, connection: int, rate: int) -> None:
        self.ends = (
            CableEnd(a, Role.DIALER, connection),
            CableEnd(b, Role.ACCEPTOR, connection),
        )
        self.rate = rate

    def cut(self) -> None:
        """Lose all that is under way, and tell both ends."""
        for end in self.ends:
            end.way.clear()
            act(end.node, partial(end.link.lost, "the cable is cut"))

    def carry(self) -> bool:
        """Have octets arrive; false if there are none."""
        moved = False
        for sender, receiver in (self.ends, self.ends[::-1]):
            while len(sender.way) < self.rate and sender.link.has_output:
                act(sender.node, partial(_write, sender))
            data = bytes(sender.way[: self.rate])
            del sender.way[: self.rate]
            link = receiver.link
            if data:
                act(receiver.node, partial(link.receive_data, data, _NOW))
            moved = moved or bool(data) or link.more_waits
            while link.more_waits:
                act(receiver.node, partial(link.advance, _NOW))
            if sender.link.closed and not link.closed and not sender.way:
                act(receiver.node, partial(link.lost, "the other end closed it"))
        return moved


def _write(end: CableEnd) -> None:
    for buffer in end.link.data_to_send():
        end.way += buffer


def act(node: SharingNode, step: Callable[[], _T]) -> _T:
    """Run ``step`` as an input of the node's broker."""
    broker = node.lone.broker
    broker.begin(node.lone.now_s, node.lone.wall_ms)
    done = step()
    broker.finish()
    node.lone.note_units()
    return done


class LinkedBrokers(SharingBrokers):
    """The nodes, every two of them with a cable. ``rate`` is what each carries in a turn. See
    :class:`~reference_broker.testing.sharing_brokers.SharingBrokers` for the rest."""

    def __init__(
        self,
        *names: str,
        journals: Mapping[str, Journal] | None = None,
        units: int = UNLIMITED_UNITS,
        rate: int = 1 << 20,
    ) -> None:
        self.cables: dict[frozenset[str], Cable] = {}
        self.turns = 0
        self._rate = rate
        self._connections = 0
        super().__init__(*names, journals=journals, units=units)
        for place, name in enumerate(names):
            for other in names[place + 1 :]:
                self.join(name, other)
        self.settle()

    def join(self, name: str, other: str) -> Cable:
        """Have a new cable between two nodes; an older one, if there is one, is found to be gone
        by both when the new one is there."""
        self._connections += 1
        before = self.cables.get(frozenset((name, other)))
        if before is not None:
            before.cut()
        cable = Cable(self[name], self[other], self._connections, self._rate)
        self.cables[frozenset((name, other))] = cable
        return cable

    def cut(self, name: str, other: str) -> None:
        """Cut the cable between two nodes."""
        self.cables.pop(frozenset((name, other))).cut()

    def turn(self) -> bool:
        """One turn of every node, and what the cables carry in it; false if nothing happened."""
        self.turns += 1
        moved = self.pass_on()
        for node in self.nodes.values():
            node.lone.broker.budget.refill()
            moved = moved or node.lone.broker.has_work
            if node.lone.broker.has_work:
                node.lone.broker.go_on(node.lone.now_s, node.lone.wall_ms)
                node.lone.note_units()
        for cable in self.cables.values():
            for end in cable.ends:
                act(end.node, end.flush)
        for node in self.nodes.values():
            act(node, node.queue_links.flush)
        for cable in list(self.cables.values()):
            moved = cable.carry() or moved
        return moved or any(node.lone.broker.has_work for node in self.nodes.values())

    def settle(self) -> None:
        """Have everything happen that can."""
        while self.turn():
            pass

    def act(self, name: str, step: Callable[[], _T]) -> _T:
        """Run ``step`` as an input of a node: a call of one of its homes, say."""
        return act(self[name], step)

    def declare(
        self, name: str, queue: str, *, durable: bool = False, **arguments: object
    ) -> Queue:
        """A queue with its home at the node of that name; ``x_max_length=1`` is an argument."""
        client = self[name].lone.client()
        wanted = {key.replace("_", "-"): value for key, value in arguments.items()}
        client.send(1, QueueDeclare(queue, durable=durable, arguments=wanted))
        self.settle()
        answers = client.methods()
        found = self[name].lone.broker.vhosts["/"].queues.get(queue)
        assert found is not None, answers
        return found
