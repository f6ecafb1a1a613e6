"""Peers: loopback, the origin that a limit counts by, and the name in a certificate."""

from __future__ import annotations

import pytest

from reference_broker.core.base.peer import Ends, Peer, ProxyHeader
from reference_broker.core.base.tls_session import PeerCertificate, TlsSession


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:192.0.2.1", False),
        ("192.0.2.1", False),
        ("fe80::1", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_what_is_loopback(host: str, loopback: bool) -> None:
    assert Peer(host, 1, "127.0.0.1", 2).is_loopback is loopback


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("/run/socket", "/run/socket"),
        ("", ""),
    ],
)
def test_an_origin_is_an_address_or_an_ipv6_network(host: str, origin: str) -> None:
    assert Peer(host, 1, "127.0.0.1", 2).origin == origin


def test_a_name_is_proven_by_a_certificate_alone() -> None:
    def named(tls: TlsSession | None) -> str | None:
        return Peer("192.0.2.7", 1, "127.0.0.1", 2, tls).proven_name

    session = TlsSession("tlsv1.3", "any", "aes_256_gcm", "aead")
    assert named(None) is None
    assert named(session) is None
    for login_name in ("me", None):
        shown = PeerCertificate("CN=me", "CN=ca", "always", login_name)
        with_certificate = TlsSession("tlsv1.3", "any", "aes_256_gcm", "aead", shown)
        assert named(with_certificate) == login_name


def test_it_is_written_as_rabbitmq_names_a_connection() -> None:
    assert str(Peer("192.0.2.7", 50_000, "127.0.0.1", 5672)) == "192.0.2.7:50000 -> 127.0.0.1:5672"


CLAIMED = Ends("198.51.100.7", 40_000, "203.0.113.1", 5671)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "192.0.2.7"])
@pytest.mark.parametrize("claimed", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "198.51.100.7", None])
def test_nobody_behind_a_proxy_is_on_this_machine(host: str, claimed: str | None) -> None:
    header = ProxyHeader(None if claimed is None else CLAIMED._replace(host=claimed))
    assert not Peer(host, 1, "127.0.0.1", 2, proxy=header).is_loopback


def test_a_claim_is_shown_and_counted() -> None:
    peer = Peer("192.0.2.7", 50_000, "192.0.2.1", 5672, proxy=ProxyHeader(CLAIMED))
    assert (peer.claimed_host, peer.claimed_port) == ("198.51.100.7", 40_000)
    assert (peer.host, peer.port) == ("192.0.2.7", 50_000)
    assert peer.shown == CLAIMED
    assert peer.origin == "198.51.100.7"
    assert str(peer) == "198.51.100.7:40000 -> 203.0.113.1:5671"


@pytest.mark.parametrize("proxy", [None, ProxyHeader()])
def test_where_nothing_is_claimed_it_is_the_socket_that_is_shown(proxy: ProxyHeader | None) -> None:
    peer = Peer("192.0.2.7", 50_000, "192.0.2.1", 5672, proxy=proxy)
    assert (peer.claimed_host, peer.claimed_port) == (None, None)
    assert peer.shown == ("192.0.2.7", 50_000, "192.0.2.1", 5672)
    assert peer.origin == "192.0.2.7"
