"""The networks of proxies: who is in them, and what is no network."""

from __future__ import annotations

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.net.proxy_sources import SOURCES_MAX, ProxySources


@pytest.mark.parametrize(
    ("networks", "host", "is_in"),
    [
        ("10.0.0.0/8", "10.255.0.1", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("10.0.0.0/8", "::ffff:10.0.0.1", True),
        ("::ffff:10.0.0.0/104", "10.0.0.1", True),
        ("::ffff:10.0.0.0/104", "::ffff:10.0.0.1", True),
        ("192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("fd00::/8", "fdff::1", True),
        ("fd00::/8", "fc00::1", False),
        ("fe80::/10", "fe80::1%eth0", True),
        ("::/0", "10.0.0.1", False),
        ("::/0", "::ffff:10.0.0.1", False),
        ("10.0.0.0/8, 127.0.0.1,::1", "::1", True),
        ("0.0.0.0/0", "/run/socket", False),
        ("0.0.0.0/0", "", False),
    ],
)
def test_who_is_among_them(networks: str, host: str, is_in: bool) -> None:
    assert (host in ProxySources.parse(networks.split(","))) is is_in


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nowhere", "'nowhere' is not a network, such as 10.0.0.0/8"),
        ("", "'' is not a network"),
        ("10.0.0.0/33", "is not a network, such as"),
        ("10", "is not a network, such as"),
        ("fe80::1%eth0", "is not a network, such as"),
        ("10.1.2.3/8", "is not a network: 10.0.0.0/8 is, and 10.1.2.3 is an address"),
    ],
)
def test_what_is_no_network(text: str, said: str) -> None:
    with pytest.raises(BadConfiguration, match=said):
        ProxySources.parse(["10.0.0.0/8", text])


def test_one_at_least_and_some_at_most() -> None:
    with pytest.raises(BadConfiguration, match="no network"):
        ProxySources.parse([])
    ProxySources.parse(["::1"] * SOURCES_MAX)
    with pytest.raises(BadConfiguration, match=f"at most {SOURCES_MAX}"):
        ProxySources.parse(["::1"] * (SOURCES_MAX + 1))
