"""mqkit_bench.stalls.handshakes: the first octets of TLS."""

from __future__ import annotations

from mqkit_bench.stalls.handshakes import client_hello

HANDSHAKE = 22
"""The content type of a TLS record (RFC 8446, section 5.1)."""


def test_a_client_begins_with_one_record() -> None:
    octets = client_hello()
    assert octets[0] == HANDSHAKE
    assert int.from_bytes(octets[3:5], "big") == len(octets) - 5
