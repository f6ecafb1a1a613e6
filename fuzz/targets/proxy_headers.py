"""PROXY headers, read as the broker does: no octet more than is missing."""

from __future__ import annotations

from fuzz.target import Target
from reference_broker.core.base.peer import Ends, ProxyHeader
from reference_broker.runtime.net.proxy_header import (
    FIXED_BYTES,
    HEADER_BYTES_MAX,
    BadProxyHeader,
    parse_proxy_header,
)
from reference_broker.testing.proxy_header import RELAYED, header, health_check, relayed, tlv


def check(data: bytes) -> None:
    """Nothing but a refusal, an end that its length says, and a bound."""
    taken = b""
    while True:
        try:
            parsed = parse_proxy_header(taken)
        except BadProxyHeader:
            return
        if isinstance(parsed, ProxyHeader):
            assert len(taken) == FIXED_BYTES + int.from_bytes(taken[14:FIXED_BYTES], "big")
            return
        assert 0 < parsed.missing <= HEADER_BYTES_MAX - len(taken)
        come = data[len(taken) : len(taken) + parsed.missing]
        if not come:
            return
        taken += come


def seeds() -> list[bytes]:
    v4 = Ends("198.51.100.7", 40_000, "203.0.113.1", 5672)
    v6 = Ends("2001:db8::7", 40_000, "2001:db8::1", 5671)
    return [
        health_check(),
        relayed(v4, checksum=True),
        relayed(v6, tlv(2, b"name"), tlv(4, bytes(9))),
        header(RELAYED, 0x31, bytes(216)),
        b"PROXY TCP4 198.51.100.7 203.0.113.1 40000 5672\r\n",
    ]


TARGET = Target("proxy_headers", check, seeds)
