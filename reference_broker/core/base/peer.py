"""The peer of a connection: the addresses that the socket itself reports, and those that a proxy
claims for its client.

A user who may log in from this machine only is judged by the socket's, never by one that is
claimed, and doesn't come in through a proxy at all (CVE-2026-57216, CVE-2026-67411 of RabbitMQ).
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from reference_broker.core.base.tls_session import TlsSession

_HOST_BITS = 64
"""Of an IPv6 address."""


class Ends(NamedTuple):
    """The two ends of a TCP connection, the client's first."""

    host: str
    port: int
    local_host: str
    local_port: int


@dataclass(frozen=True, slots=True)
class ProxyHeader:
    """The PROXY header that a proxy has sent before anything else. ``claimed`` are the ends of the
    connection between its client and the proxy, or another one before it; ``None`` where the header
    names none, as that of a health check."""

    claimed: Ends | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """The two ends of a socket. ``tls`` is how it is encrypted; ``None`` where it is not. ``proxy``
    is the header of the proxy that the client came through; ``None`` where there is no proxy."""

    host: str
    port: int
    local_host: str
    local_port: int
    tls: TlsSession | None = None
    proxy: ProxyHeader | None = None

    @property
    def shown(self) -> Ends:
        """The ends that logs and lists show and limits count by: those that the proxy claims, else
        the socket's own."""
        if self.proxy is not None and self.proxy.claimed is not None:
            return self.proxy.claimed
        return Ends(self.host, self.port, self.local_host, self.local_port)

    @property
    def claimed_host(self) -> str | None:
        """The client's address by its proxy's word; ``None`` where nothing is claimed."""
        claimed = None if self.proxy is None else self.proxy.claimed
        return None if claimed is None else claimed.host

    @property
    def claimed_port(self) -> int | None:
        """The client's port by its proxy's word; ``None`` where nothing is claimed."""
        claimed = None if self.proxy is None else self.proxy.claimed
        return None if claimed is None else claimed.port

    @property
    def is_loopback(self) -> bool:
        """True if the peer is a process on this machine. An address that can't be read is not, nor
        is who comes through a proxy, wherever it runs and whatever it claims."""
        if self.proxy is not None:
            return False
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
        is no address stands for itself. Behind a proxy it is the client's that counts."""
        host = self.shown.host
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError:
            return host
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
        host, port, local_host, local_port = self.shown
        return f"{host}:{port} -> {local_host}:{local_port}"
