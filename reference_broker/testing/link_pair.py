"""Two nodes and the link between them: bytes go when the test says so, in cuts that it chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from reference_broker.cluster.link.connection_numbers import ConnectionNumbers
from reference_broker.cluster.link.handshake import Identity, Role
from reference_broker.cluster.link.heartbeats import Report
from reference_broker.cluster.link.hello import NONCE_BYTES, Hello
from reference_broker.cluster.link.lane import WINDOWS, Lane
from reference_broker.cluster.link.link import Link, Receiver
from reference_broker.cluster.link.secret import Secret
from reference_broker.errors import LinkError

HELLOS = {
    Role.DIALER: Hello("cluster-1", "a", 1, "disk-a", run=3, connection=7, address="10.0.0.1:1"),
    Role.ACCEPTOR: Hello("cluster-1", "b", 2, "disk-b", run=5, connection=0, address="10.0.0.2:1"),
}

READ_BYTES_MAX = 256 * 1024
"""Of one read; asyncio's."""


def identity(
    role: Role, secret: bytes = b"the secret of the cluster", **fields: object
) -> Identity:
    """A node's identity; ``fields`` are those of its HELLO that are not the usual ones."""
    hello = HELLOS[role]._replace(**fields)  # type: ignore[arg-type]
    return Identity(hello, Secret(secret), role.value.ljust(NONCE_BYTES, b"."))


class LinkEnd:
    """One end: a link and its owner, who notes what comes. ``takes`` of a lane false: messages are
    kept in ``held``, and no credit is given back."""

    def __init__(self, role: Role, who: Identity, now: float) -> None:
        self.opened = self.heartbeats = 0
        self.downs: list[str] = []
        self.received: dict[Lane, list[tuple[int, bytes]]] = {lane: [] for lane in Lane}
        self.held: list[tuple[Lane, int, memoryview]] = []
        self.takes = dict.fromkeys(WINDOWS, True)
        self.fault = ""
        """Not empty: no message can be read, for this reason."""
        self.questions: list[tuple[int, bytes]] = []
        self.state: Report | None = Report()
        """The node's state, as its heartbeats tell it."""
        self.numbers = ConnectionNumbers()
        self.way = bytearray()
        """Bytes that are under way to the other end."""
        self.loses = False
        """True: what this end sends does not arrive, and nobody is told."""
        self.link = Link(role, who, self.numbers, self, now)

    # The owner

    def link_open(self, link: Link) -> None:
        self.opened += 1

    def link_down(self, link: Link) -> None:
        self.downs.append(link.reason)

    def heartbeat(self, link: Link) -> None:
        self.heartbeats += 1

    def report_for(self, link: Link) -> Report | None:
        return self.state

    def asked(self, link: Link, token: int, question: memoryview) -> None:
        self.questions.append((token, bytes(question)))

    def receivers(self, link: Link) -> Mapping[Lane, Receiver]:
        return {lane: self._receiver(lane) for lane in Lane}

    def _receiver(self, lane: Lane) -> Receiver:
        def receive(kind: int, payload: memoryview) -> None:
            if self.fault:
                raise LinkError(self.fault)
            self.received[lane].append((kind, bytes(payload)))
            if self.takes.get(lane):
                self.link.consumed(lane, kind, payload)
            elif lane in self.takes:
                self.held.append((lane, kind, payload))

        return receive

    def take_held(self) -> None:
        """Be done with one message that was kept."""
        lane, kind, payload = self.held.pop(0)
        self.link.consumed(lane, kind, payload)

    # The shell

    def send(self) -> bool:
        """Hand the link's next output to the network. False if there was none."""
        data = b"".join(self.link.data_to_send())
        if not self.loses:
            self.way += data
        return bool(data)


class LinkPair:
    """A dialer and an acceptor, in one virtual time. ``dice`` choose the cuts; without them each
    read takes all that it can."""

    def __init__(
        self,
        dialer: Identity | None = None,
        acceptor: Identity | None = None,
        dice: Random | None = None,
    ) -> None:
        self.now = 1_000.0
        self.dialer = LinkEnd(Role.DIALER, dialer or identity(Role.DIALER), self.now)
        self.acceptor = LinkEnd(Role.ACCEPTOR, acceptor or identity(Role.ACCEPTOR), self.now)
        self.ends = (self.dialer, self.acceptor)
        self._dice = dice

    def deliver(self, sender: LinkEnd) -> bool:
        """Have the other end read once. False if there was nothing to do."""
        receiver = self.acceptor if sender is self.dialer else self.dialer
        if receiver.link.more_waits:
            receiver.link.advance(self.now)
            return True
        most = len(sender.way)
        if self._dice is not None and most:
            most = min(most, self._dice.choice((1, 11, 100, 4_000, READ_BYTES_MAX)))
        data = bytes(sender.way[: min(most, READ_BYTES_MAX)])
        del sender.way[: len(data)]
        if data:
            receiver.link.receive_data(data, self.now)
        return bool(data)

    def settle(self) -> None:
        """Have all that can be sent arrive, and all that it causes."""
        moves: list[Callable[[], bool]] = [end.send for end in self.ends]
        while any([move() for move in moves] + [self.deliver(end) for end in self.ends]):
            pass

    def opened(self) -> LinkPair:
        """This pair, once the handshake is over."""
        self.settle()
        assert [end.opened for end in self.ends] == [1, 1], self.ends[0].downs + self.ends[1].downs
        return self

    def pass_time(self, seconds: float, step_s: float = 0.01) -> None:
        """Let time go by, with all that is due in it."""
        for _ in range(round(seconds / step_s)):
            self.now += step_s
            for end in self.ends:
                deadline = end.link.next_deadline()
                if deadline is not None and deadline <= self.now:
                    end.link.tick(self.now)
            self.settle()
