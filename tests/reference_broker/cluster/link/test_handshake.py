"""The handshake of both ends: who is let in, who is refused and by which line, and what travels."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.connection_numbers import ConnectionNumbers
from reference_broker.cluster.link.handshake import Answer, Handshake, Identity, Role
from reference_broker.cluster.link.handshake_state import HandshakeState
from reference_broker.cluster.link.hello import decode_hello
from reference_broker.cluster.link.lane import ControlKind
from reference_broker.errors import LinkError
from reference_broker.testing.link_pair import HELLOS, identity

A, B = identity(Role.DIALER), identity(Role.ACCEPTOR)
SECRET = b"the secret of the cluster"


def begun(
    dialer: Identity = A, acceptor: Identity = B, numbers: ConnectionNumbers | None = None
) -> tuple[Handshake, Handshake, list[Answer]]:
    """Both ends, and what the dialer sends first."""
    numbers = numbers or ConnectionNumbers()
    one = Handshake(Role.DIALER, dialer, ConnectionNumbers())
    other = Handshake(Role.ACCEPTOR, acceptor, numbers)
    assert other.begin() == []
    return one, other, one.begin()


def shake(one: Handshake, other: Handshake, messages: list[Answer]) -> list[Answer]:
    """All messages that travel, until nobody has one."""
    travelled: list[Answer] = []
    receiver, sender = other, one
    while messages:
        travelled += messages
        messages = [
            answer for kind, payload in messages for answer in receiver.receive(kind, payload)
        ]
        receiver, sender = sender, receiver
    return travelled


def refused(dialer: Identity = A, acceptor: Identity = B) -> str:
    """The line that ends a handshake of these two."""
    one, other, messages = begun(dialer, acceptor)
    with pytest.raises(LinkError) as caught:
        shake(one, other, messages)
    assert HandshakeState.REFUSED in (one.state, other.state)
    assert HandshakeState.DONE not in (one.state, other.state)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_both_ends_know_each_other() -> None:
    one, other, messages = begun()
    travelled = shake(one, other, messages)
    assert one.state is other.state is HandshakeState.DONE
    assert one.peer == HELLOS[Role.ACCEPTOR]._replace(connection=7)
    assert other.peer == HELLOS[Role.DIALER]
    assert one.version == other.version == 1
    kinds = [kind for kind, _ in travelled]
    assert kinds == [ControlKind.HELLO, ControlKind.HELLO, ControlKind.PROOF, ControlKind.PROOF]


def test_the_secret_never_travels() -> None:
    one, other, messages = begun()
    travelled = shake(one, other, messages)
    assert all(SECRET not in payload for _, payload in travelled)
    assert "the secret" not in repr((A, B, one, other))


def test_another_secret_is_refused_before_anything_is_proved_to_it() -> None:
    one, other, ((kind, hello),) = begun(identity(Role.DIALER, secret=b"guessed"))
    ((_, answer),) = other.receive(kind, hello)
    ((_, proof),) = one.receive(ControlKind.HELLO, answer)
    with pytest.raises(LinkError, match="node 'a' and node 'b' have different cluster secrets"):
        other.receive(ControlKind.PROOF, proof)
    assert other.state is HandshakeState.REFUSED


def test_an_acceptor_has_to_prove_it_too() -> None:
    """It takes any proof; the dialer doesn't take its."""
    one, _, _ = begun()
    ((_, proof),) = one.receive(ControlKind.HELLO, B.hello._replace(connection=7).encode(B.nonce))
    for claimed in (proof, b"", bytes(32)):
        one, _, _ = begun()
        one.receive(ControlKind.HELLO, B.hello._replace(connection=7).encode(B.nonce))
        with pytest.raises(LinkError, match="different cluster secrets"):
            one.receive(ControlKind.PROOF, claimed)


def test_a_proof_is_no_good_for_another_connection() -> None:
    one, other, messages = begun()
    proof = shake(one, other, messages)[2][1]
    _, other, ((kind, hello),) = begun(acceptor=B._replace(nonce=bytes(32)))
    other.receive(kind, hello)
    with pytest.raises(LinkError, match="different cluster secrets"):
        other.receive(ControlKind.PROOF, proof)


def test_a_hello_that_somebody_changed_is_found_out() -> None:
    one, other, ((kind, hello),) = begun()
    ((_, answer),) = other.receive(kind, hello.replace(b"disk-a", b"disk-x"))
    ((_, proof),) = one.receive(ControlKind.HELLO, answer)
    with pytest.raises(LinkError, match="different cluster secrets"):
        other.receive(ControlKind.PROOF, proof)


def test_another_cluster() -> None:
    line = refused(acceptor=identity(Role.ACCEPTOR, cluster="cluster-2"))
    assert line.startswith("node 'a' is of cluster 'cluster-1', node 'b' of 'cluster-2'")


def test_an_own_name() -> None:
    assert "two nodes are named 'b'" in refused(identity(Role.DIALER, node="b"))


def test_another_purpose() -> None:
    line = "node 'a' wants a connection of purpose 1, node 'b' one of 0"
    assert refused(identity(Role.DIALER, purpose=1)) == line


def test_an_own_number() -> None:
    assert "both have node number 2" in refused(identity(Role.DIALER, number=2))


def test_somebody_else_than_was_dialled() -> None:
    line = refused(A._replace(dialled="c"))
    assert line.startswith("node 'c' was dialled, and 'b' answered")


@pytest.mark.parametrize(
    ("dialer", "acceptor", "version"),
    [((1, 1), (1, 3), 1), ((1, 4), (2, 3), 3), ((2, 2), (1, 2), 2), ((1, 2), (3, 4), 0),
     ((5, 6), (1, 4), 0)],
)  # fmt: skip
def test_the_highest_version_in_common(
    dialer: tuple[int, int], acceptor: tuple[int, int], version: int
) -> None:
    who = identity(Role.DIALER, lowest=dialer[0], highest=dialer[1])
    other_who = identity(Role.ACCEPTOR, lowest=acceptor[0], highest=acceptor[1])
    if version:
        one, other, messages = begun(who, other_who)
        shake(one, other, messages)
        assert one.version == other.version == version
    else:
        line = refused(who, other_who)
        assert f"versions {dialer[0]} to {dialer[1]} of the link, node 'b' {acceptor[0]}" in line
        assert line.endswith("upgrade the older one")


def test_an_older_connection_is_refused_and_only_a_proved_one_counts() -> None:
    numbers = ConnectionNumbers()
    liar = identity(Role.DIALER, secret=b"guessed", connection=99)
    one, other, messages = begun(liar, numbers=numbers)
    with pytest.raises(LinkError, match="different cluster secrets"):
        shake(one, other, messages)
    one, other, messages = begun(numbers=numbers)
    shake(one, other, messages)
    one, other, messages = begun(identity(Role.DIALER, connection=6), numbers=numbers)
    with pytest.raises(LinkError, match="connection 6 of node 'a' is not newer than its connecti"):
        shake(one, other, messages)


def test_an_answer_to_another_connection() -> None:
    one, _, _ = begun()
    with pytest.raises(LinkError, match="answers to another connection"):
        one.receive(ControlKind.HELLO, B.hello._replace(connection=6).encode(B.nonce))


@pytest.mark.parametrize("kind", [kind for kind in ControlKind if kind is not ControlKind.HELLO])
@pytest.mark.parametrize("role", Role, ids=lambda role: role.name)
def test_nothing_but_a_hello_comes_first(role: Role, kind: ControlKind) -> None:
    handshake = Handshake(role, A if role is Role.DIALER else B, ConnectionNumbers())
    handshake.begin()
    with pytest.raises(LinkError, match=f"control of kind {kind} in a handshake where"):
        handshake.receive(kind, bytes(32))
    assert handshake.state is HandshakeState.REFUSED
    with pytest.raises(LinkError, match="doesn't want the link"):
        handshake.receive(ControlKind.HELLO, decode_hello(A.hello.encode(A.nonce)).encode(A.nonce))
    handshake.refuse()
