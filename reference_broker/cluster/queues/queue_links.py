"""The queues of all nodes, over the links of this one: the other nodes as homes, and this node as
the home of what they ask for. Its owner is the mesh, which has the links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.queues.catalogue import Catalogue
from reference_broker.cluster.queues.kinds import CommandKind, PublishKind
from reference_broker.cluster.queues.lane_input import LaneInput
from reference_broker.cluster.queues.lane_output import LaneOutput
from reference_broker.cluster.queues.linked_home import LinkedHome
from reference_broker.cluster.queues.origin_session import OriginSession
from reference_broker.cluster.queues.publish_octets import read_numbers
from reference_broker.errors import LinkError

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.journal.watermark import Watermark


class QueueLinks:
    """The :class:`~reference_broker.core.remote.ports.Homes` of a node, and the
    :class:`~reference_broker.cluster.mesh.LaneUser` of its mesh: both ends of each link. All
    methods are called within inputs of ``broker``, :meth:`flush` at the end of each turn.

    ``revision`` is what the node's view has reached; ``look_at`` has a link written before the turn
    ends.
    """

    def __init__(
        self, broker: Broker, revision: Watermark, look_at: Callable[[Link], None]
    ) -> None:
        self._broker = broker
        self._catalogue = Catalogue(broker.queues_by_id, revision)
        self._look_at = look_at
        self._homes: dict[str, LinkedHome] = {}
        self._homes_by_number: dict[int, LinkedHome] = {}
        self._peers: dict[Link, _Peer] = {}
        self._delivered: dict[str, int] = {}
        """Messages that went to consumers of a node over links that have ended."""
        broker.memory.beside["links"] = self._held_bytes

    def home(self, node: str) -> LinkedHome:
        """See :class:`~reference_broker.core.remote.ports.Homes`."""
        home = self._homes.get(node)
        if home is None:
            home = self._homes[node] = LinkedHome(node, self._broker.work, self._broker.budget)
        return home

    def join(self, number: int) -> None:
        """This is the node of that number: answers of reply consumers find it."""
        self._broker.direct_replies.join(number, self._homes_by_number.get)

    def _held_bytes(self) -> int:
        """Accounted octets of what clients have under way over links."""
        held = sum([home.held_bytes for home in self._homes.values()])
        return held + sum([peer.held_bytes for peer in self._peers.values()])

    # Counts

    @property
    def homes(self) -> Mapping[str, LinkedHome]:
        """The other nodes as homes, as far as anything was asked of them. Read only."""
        return self._homes

    def delivered_over(self, node: str, link: Link | None) -> int:
        """Messages that went to consumers of ``node``, over ``link``, which is open, and over all
        links that have ended."""
        peer = None if link is None else self._peers.get(link)
        now = 0 if peer is None else peer.session.delivered
        return self._delivered.get(node, 0) + now

    def waiting_bytes(self, link: Link, lane: Lane) -> int:
        """Accounted octets that wait in front of the lane, which has no room for them."""
        peer = self._peers.get(link)
        return 0 if peer is None else peer.waiting_bytes(lane)

    # For the mesh

    def link_open(self, link: Link) -> None:
        """There is a link with the node, and no other one."""
        home = self._homes_by_number[link.peer.number] = self.home(link.peer.node)
        peer = _Peer(link, home, self._broker, self._catalogue, self._look_at)
        self._peers[link] = peer

    def link_down(self, link: Link) -> None:
        """The link has ended, or a newer one will take its place. Idempotent."""
        peer = self._peers.pop(link, None)
        if peer is not None:
            peer.close()
            node = link.peer.node
            self._delivered[node] = self._delivered.get(node, 0) + peer.session.delivered

    def applied(self, link: Link, revision: int) -> None:
        """The view of the node at the other end has reached ``revision``."""
        peer = self._peers.get(link)
        if peer is not None:
            peer.session.intake.revision = revision

    def receive(self, link: Link, lane: Lane, kind: int, payload: memoryview) -> None:
        """A message has come in one of the lanes of queues. Raises :exc:`LinkError` for one that
        can't be read; others may end the link later."""
        peer = self._peers.get(link)
        if peer is not None:
            self._broker.memory.received(len(payload))
            peer.receive(lane, kind, payload)

    def flush(self) -> None:
        """The turn ends: what was put together in it goes."""
        for peer in list(self._peers.values()):
            peer.flush()


class _Peer:
    """Both parts that a node plays over one link."""

    def __init__(
        self,
        link: Link,
        home: LinkedHome,
        broker: Broker,
        catalogue: Catalogue,
        look_at: Callable[[Link], None],
    ) -> None:
        self._link = link
        self._home = home
        self._publishing = LaneOutput(link, Lane.PUBLISH, look_at)
        self._output = LaneOutput(link, Lane.DELIVER, look_at)
        self.session = OriginSession(link, broker, catalogue, self._output, look_at)
        work, budget = broker.work, broker.budget
        self._publishes = LaneInput(link, Lane.PUBLISH, self.session.intake.take, work, budget)
        self._commands = LaneInput(link, Lane.DELIVER, self.session.take, work, budget)
        self._answers = LaneInput(link, Lane.DELIVER, home.take, work, budget)
        home.begin(link, self._publishing, self._output)

    @property
    def held_bytes(self) -> int:
        outputs = self._publishing.held_bytes + self._output.held_bytes
        return self._link.held_bytes + outputs + self.session.held_bytes

    def receive(self, lane: Lane, kind: int, payload: memoryview) -> None:
        if lane is Lane.DELIVER:
            lane_input = self._commands if kind <= max(CommandKind) else self._answers
            lane_input.receive(kind, payload)
        elif lane is not Lane.PUBLISH:
            raise LinkError(f"a message of kind {kind} in the lane {lane.name}")
        elif kind == PublishKind.CONFIRMED:
            for through in read_numbers(payload):
                self._home.publishes.confirm(through)
        elif kind == PublishKind.REFUSED:
            self._home.publishes.refuse(read_numbers(payload))
        else:
            self._publishes.receive(kind, payload)

    def waiting_bytes(self, lane: Lane) -> int:
        outputs = {Lane.PUBLISH: self._publishing, Lane.DELIVER: self._output}
        return outputs[lane].waiting if lane in outputs else 0

    def flush(self) -> None:
        self._home.flush()
        self._publishing.flush()
        self.session.flush()

    def close(self) -> None:
        for lane_input in (self._publishes, self._commands, self._answers):
            lane_input.close()
        self.session.close()
        self._home.end()
        for output in (self._publishing, self._output):
            output.close()
