"""The networks that proxies connect from, which have to send a PROXY header."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from reference_broker.errors import BadConfiguration

SOURCES_MAX = 256
"""Networks of one server: each accepted socket is compared with all of them, a microsecond each."""

_MAPPED = IPv6Network("::ffff:0:0/96")
"""IPv4 addresses as a socket of IPv6 shows them."""


class ProxyProtocol(StrEnum):
    """Versions of the PROXY protocol that are taken."""

    V2 = "v2"


@dataclass(frozen=True, slots=True)
class ProxySources:
    """Networks that proxies connect from. ``host in sources`` says whether one is among them."""

    networks: tuple[IPv4Network | IPv6Network, ...]

    @classmethod
    def parse(cls, texts: Iterable[str]) -> ProxySources:
        """Networks as ``10.0.0.0/8`` or ``fd00::/8``; an address is a network of its own. Raises
        :exc:`BadConfiguration`, also for none and for more than :data:`SOURCES_MAX`."""
        networks = tuple(_network(text.strip()) for text in texts)
        if not networks:
            raise BadConfiguration("no network: name those of the proxies, such as 10.0.0.0/8")
        if len(networks) > SOURCES_MAX:
            raise BadConfiguration(
                f"{len(networks)} networks of proxies: at most {SOURCES_MAX} can be named"
            )
        return cls(networks)

    def __contains__(self, host: str) -> bool:
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError:
            return False
        plain = _plain(address)
        return any(plain in network for network in self.networks)


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        network = ip_network(text, strict=False)
        if "%" in text:
            raise ValueError("a zone: peers are looked for without theirs")
    except ValueError:
        raise BadConfiguration(
            f"{text!r} is not a network, such as 10.0.0.0/8, fd00::/8 or 192.0.2.7"
        ) from None
    if "/" in text and ip_address(text.partition("/")[0]) != network.network_address:
        raise BadConfiguration(
            f"{text!r} is not a network: {network} is, and {text.partition('/')[0]} is an address"
        )
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        mapped = network.network_address.ipv4_mapped
        return IPv4Network((int(mapped or 0), network.prefixlen - _MAPPED.prefixlen))
    return network
