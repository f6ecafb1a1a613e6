"""The beginnings of links: those that a node dials, and those that others have opened, of which
only so many may be without a name at once.
"""

from __future__ import annotations

from reference_broker.cluster.link.connection_numbers import ConnectionNumbers
from reference_broker.cluster.link.handshake import Identity, Role
from reference_broker.cluster.link.hello import Hello
from reference_broker.cluster.link.link import Link, LinkOwner
from reference_broker.cluster.link.secret import Secret
from reference_broker.cluster.link.shell import LinkShell

ACCEPTED_MAX = 64
"""Sockets that others have opened, and that are not through their handshake. There are six nodes,
and each dials once at a time; whoever else connects is gone after the time of a handshake."""


class Greetings:
    """Makes the links of one purpose, for ``owner``. :meth:`begin` has to be called first; the
    owner calls :meth:`over` for each link that is open, and for each that is down."""

    __slots__ = ("_accepted", "_hello", "_numbers", "_owner", "_secret", "_shell")

    def __init__(self, secret: Secret, shell: LinkShell, owner: LinkOwner) -> None:
        self._secret = secret
        self._shell = shell
        self._owner = owner
        self._numbers = ConnectionNumbers()
        self._hello: Hello | None = None
        self._accepted: dict[Link, None] = {}

    def begin(self, hello: Hello) -> None:
        """Introduce this node by ``hello``, to others of the same purpose."""
        self._hello = hello

    def dial(self, node: str, address: str, connection: int) -> Link:
        """The link of that number with ``node``, which listens at ``address``."""
        assert self._hello is not None
        link = self._link(Role.DIALER, self._hello._replace(connection=connection), node)
        self._shell.dial(address, link)
        return link

    def accept(self) -> Link | None:
        """The link for a socket that somebody has opened; ``None``: close it, nobody can be talked
        to yet, or too many have not said who they are."""
        if self._hello is None or len(self._accepted) >= ACCEPTED_MAX:
            return None
        link = self._link(Role.ACCEPTOR, self._hello, "")
        self._accepted[link] = None
        return link

    def over(self, link: Link) -> None:
        """The link is open, or down. Idempotent."""
        self._accepted.pop(link, None)

    def end(self, reason: str) -> None:
        """End those that others have opened, and take no more. Idempotent."""
        self._hello = None
        for link in list(self._accepted):
            link.end(reason)
            self._shell.look_at(link)

    def _link(self, role: Role, hello: Hello, dialled: str) -> Link:
        hello = hello._replace(wall_ms=self._shell.wall_ms())
        identity = Identity(hello, self._secret, self._shell.nonce(), dialled)
        return Link(role, identity, self._numbers, self._owner, self._shell.now())
