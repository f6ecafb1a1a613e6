"""greetings: links that begin, and how many may have no name at once."""

from __future__ import annotations

from reference_broker.cluster.link.greetings import ACCEPTED_MAX, Greetings
from reference_broker.cluster.link.handshake import Role
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.link.secret import Secret
from reference_broker.testing.link_pair import HELLOS, LinkEnd, identity


class Shell:
    """Notes what is dialled."""

    def __init__(self) -> None:
        self.dialled: list[str] = []
        self.looked_at: list[Link] = []
        self.nonces = 0

    def now(self) -> float:
        return 500.0

    def wall_ms(self) -> int:
        return 1_700_000_000_000

    def nonce(self) -> bytes:
        self.nonces += 1
        return bytes([self.nonces]) * 32

    def dial(self, address: str, link: Link) -> None:
        self.dialled.append(address)

    def look_at(self, link: Link) -> None:
        self.looked_at.append(link)


def _greetings(role: Role) -> tuple[Greetings, Shell]:
    shell = Shell()
    owner = LinkEnd(role, identity(role), shell.now())
    greetings = Greetings(Secret(b"the secret of the cluster"), shell, owner)
    return greetings, shell


def test_what_is_dialled_here_is_accepted_there() -> None:
    here, shell = _greetings(Role.DIALER)
    here.begin(HELLOS[Role.DIALER])
    there, _ = _greetings(Role.ACCEPTOR)
    there.begin(HELLOS[Role.ACCEPTOR])
    dialled, accepted = here.dial("b", "10.0.0.2:1", 7), there.accept()
    assert accepted is not None
    assert shell.dialled == ["10.0.0.2:1"]
    for _ in range(2):
        accepted.receive_data(b"".join(dialled.data_to_send()), 500.0)
        dialled.receive_data(b"".join(accepted.data_to_send()), 500.0)
    assert accepted.peer.connection == dialled.peer.connection == 7
    assert accepted.peer.wall_ms == 1_700_000_000_000


def test_those_without_a_name_are_bounded() -> None:
    greetings, shell = _greetings(Role.ACCEPTOR)
    assert greetings.accept() is None
    greetings.begin(HELLOS[Role.ACCEPTOR])
    links = [greetings.accept() for _ in range(ACCEPTED_MAX)]
    assert None not in links
    assert greetings.accept() is None
    assert links[0] is not None
    greetings.over(links[0])
    greetings.over(links[0])
    last = greetings.accept()
    assert last is not None
    assert greetings.accept() is None
    greetings.end("the node is stopping")
    assert last.reason == "the node is stopping"
    assert len(shell.looked_at) == ACCEPTED_MAX
    assert greetings.accept() is None
