"""The handshake of a link: each end learns who the other is, and that it knows the cluster's
secret.

Both HELLOs, with a nonce of each end, are the transcript that the proofs are made of, so no proof
is good for another connection, for the other role, or for a HELLO that somebody has changed.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import NamedTuple

from reference_broker.cluster.link.connection_numbers import ConnectionNumbers
from reference_broker.cluster.link.handshake_state import (
    HANDSHAKE_TRANSITIONS,
    HandshakeEvent,
    HandshakeState,
)
from reference_broker.cluster.link.hello import Hello, decode_hello
from reference_broker.cluster.link.lane import ControlKind
from reference_broker.cluster.link.secret import Secret
from reference_broker.errors import LinkError


@unique
class Role(Enum):
    """The end of a connection. The value is what its proof begins with."""

    DIALER = b"dialer"
    ACCEPTOR = b"acceptor"


class Identity(NamedTuple):
    """All that an end brings to a handshake. ``nonce`` is fresh randomness of 32 octets; an
    acceptor's ``hello.connection`` counts for nothing. ``dialled``: the name of the node that a
    dialer wants."""

    hello: Hello
    secret: Secret
    nonce: bytes
    dialled: str = ""


_OTHER = {Role.DIALER: Role.ACCEPTOR, Role.ACCEPTOR: Role.DIALER}
_PEER_HELLO = {
    Role.DIALER: HandshakeState.AWAIT_ACCEPTOR_HELLO,
    Role.ACCEPTOR: HandshakeState.AWAIT_DIALER_HELLO,
}
_PEER_PROOF = {
    Role.DIALER: HandshakeState.AWAIT_ACCEPTOR_PROOF,
    Role.ACCEPTOR: HandshakeState.AWAIT_DIALER_PROOF,
}

CLOCKS_APART_MAX_MS = 60_000
"""Milliseconds by which two nodes' wall clocks may differ. A message's time to live, and when a
delayed one is due, is a wall-clock time that goes on at another node after a failover."""

Answer = tuple[ControlKind, bytes]


class Handshake:
    """One end of a handshake. Call :meth:`begin` once, then :meth:`receive` for each control
    message that comes, and send what they return."""

    __slots__ = (
        "_identity",
        "_numbers",
        "_own",
        "_peer_octets",
        "_role",
        "peer",
        "state",
        "version",
    )

    def __init__(self, role: Role, identity: Identity, numbers: ConnectionNumbers) -> None:
        self._role = role
        self._identity = identity
        self._numbers = numbers
        self._own = b""
        self._peer_octets = b""
        self.state = HandshakeState.START
        self.peer: Hello | None = None
        """The other end, as it says; believe it once the state is DONE."""
        self.version = 0
        """The version of the protocol that both speak."""

    def begin(self) -> list[Answer]:
        """The messages to send before anything came."""
        if self._role is Role.ACCEPTOR:
            self._go(HandshakeEvent.ACCEPT)
            return []
        self._go(HandshakeEvent.DIAL)
        self._own = self._identity.hello.encode(self._identity.nonce)
        return [(ControlKind.HELLO, self._own)]

    def receive(self, kind: int, payload: bytes) -> list[Answer]:
        """The messages to send now.

        Raises :exc:`LinkError` when the link is refused, by a line that the other end may be told;
        the state is REFUSED then.
        """
        try:
            if kind == ControlKind.HELLO and self.state is _PEER_HELLO[self._role]:
                return self._take_hello(payload)
            if kind == ControlKind.PROOF and self.state is _PEER_PROOF[self._role]:
                return self._take_proof(payload)
            raise LinkError(f"control of kind {kind} in a handshake where {self.state.value}")
        except LinkError:
            self.refuse()
            raise

    def refuse(self) -> None:
        """End the handshake. Idempotent, and does nothing to one that is over."""
        if HANDSHAKE_TRANSITIONS.allows(self.state, HandshakeEvent.REFUSE):
            self._go(HandshakeEvent.REFUSE)

    def _take_hello(self, payload: bytes) -> list[Answer]:
        hello = self._identity.hello
        peer = decode_hello(payload)
        self.peer = peer
        self.version = _agreed(hello, peer)
        _check_names(hello, peer, self._identity.dialled)
        _check_clocks(hello, peer)
        self._peer_octets = payload
        if self._role is Role.DIALER:
            if peer.connection != hello.connection:
                raise LinkError(f"node {peer.node!r} answers to another connection than this one")
            self._go(HandshakeEvent.HELLO)
            return [self._proof()]
        self._own = hello._replace(connection=peer.connection).encode(self._identity.nonce)
        self._go(HandshakeEvent.HELLO)
        return [(ControlKind.HELLO, self._own)]

    def _take_proof(self, proof: bytes) -> list[Answer]:
        assert self.peer is not None
        role = _OTHER[self._role]
        if not self._identity.secret.is_proved_by(proof, role.value, self._transcript()):
            raise LinkError(
                f"node {self.peer.node!r} and node {self._identity.hello.node!r} have different"
                " cluster secrets: give both the same secret file"
            )
        if self._role is Role.ACCEPTOR:
            self._numbers.admit(self.peer)
        self._go(HandshakeEvent.PROOF)
        return [self._proof()] if self._role is Role.ACCEPTOR else []

    def _proof(self) -> Answer:
        proof = self._identity.secret.proof(self._role.value, self._transcript())
        return ControlKind.PROOF, proof

    def _transcript(self) -> bytes:
        both = (self._own, self._peer_octets)
        dialer, acceptor = both if self._role is Role.DIALER else both[::-1]
        return len(dialer).to_bytes(4, "big") + dialer + acceptor

    def _go(self, event: HandshakeEvent) -> None:
        self.state = HANDSHAKE_TRANSITIONS.after(self.state, event)


def _agreed(own: Hello, peer: Hello) -> int:
    """The highest version that both speak."""
    version = min(own.highest, peer.highest)
    if version < max(own.lowest, peer.lowest):
        raise LinkError(
            f"node {peer.node!r} speaks versions {peer.lowest} to {peer.highest} of the link, node"
            f" {own.node!r} {own.lowest} to {own.highest}: upgrade the older one"
        )
    return version


def _check_names(own: Hello, peer: Hello, dialled: str) -> None:
    if peer.cluster != own.cluster:
        raise LinkError(
            f"node {peer.node!r} is of cluster {peer.cluster!r}, node {own.node!r} of"
            f" {own.cluster!r}: look at --etcd and --cluster-name of both"
        )
    if peer.node == own.node:
        raise LinkError(
            f"two nodes are named {own.node!r}, or one has dialled itself: give each a --node-name"
            " of its own"
        )
    if peer.number == own.number:
        raise LinkError(
            f"nodes {peer.node!r} and {own.node!r} both have node number {own.number}: one runs in"
            " a copy of the other's data folder"
        )
    if peer.purpose != own.purpose:
        raise LinkError(
            f"node {peer.node!r} wants a connection of purpose {peer.purpose},"
            f" node {own.node!r} one of {own.purpose}"
        )
    if dialled and peer.node != dialled:
        raise LinkError(f"node {dialled!r} was dialled, and {peer.node!r} answered: look at its"
                        " --cluster-listen")  # fmt: skip


def _check_clocks(own: Hello, peer: Hello) -> None:
    apart_s = (peer.wall_ms - own.wall_ms) / 1_000
    if abs(apart_s) * 1_000 > CLOCKS_APART_MAX_MS:
        order = "ahead of" if apart_s > 0 else "behind"
        raise LinkError(
            f"the clock of node {peer.node!r} is {abs(apart_s):.0f} s {order} that of node"
            f" {own.node!r}: set both by NTP"
        )
