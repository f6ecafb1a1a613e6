"""The peer of a connection: the addresses that the socket itself reports.

A user who may log in from this machine only is judged by these, never by an address that the peer
claims (CVE-2026-57216, CVE-2026-67411 of RabbitMQ).
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from reference_broker.core.base.tls_session import TlsSession

_HOST_BITS = 64
"""Of an IPv6 address."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The two ends of a socket. ``tls`` is how it is encrypted; ``None`` where it is not."""

    host: str
    port: int
    local_host: str
    local_port: int
    tls: TlsSession | None = None

    @property
    def is_loopback(self) -> bool:
        """True if the peer is a process on this machine. An address that can't be read is not."""
        try:
            address = ip_address(self.host)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            return address.ipv4_mapped.is_loopback
        return address.is_loopback

    @property
    def origin(self) -> str:
        """The key by which limits count all sockets of one host: an IPv4 address itself, of an IPv6
        address its network of 64 bits, as whoever has one address of that has them all. A host that
        is no address stands for itself."""
        try:
            address = ip_address(self.host.partition("%")[0])
        except ValueError:
            return self.host
        if not isinstance(address, IPv6Address):
            return str(address)
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(IPv6Address(int(address) >> _HOST_BITS << _HOST_BITS))

    @property
    def proven_name(self) -> str | None:
        """The user name in the client's certificate, which TLS has verified."""
        certificate = None if self.tls is None else self.tls.certificate
        return None if certificate is None else certificate.login_name

    def __str__(self) -> str:
        return f"{self.host}:{self.port} -> {self.local_host}:{self.local_port}"
