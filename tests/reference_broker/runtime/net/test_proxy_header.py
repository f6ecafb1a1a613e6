"""The header of the PROXY protocol: what is in it, what is missing of it, what is none."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.base.peer import Ends, ProxyHeader
from reference_broker.runtime.net import proxy_header
from reference_broker.runtime.net.proxy_header import (
    FIXED_BYTES,
    HEADER_BYTES_MAX,
    BadProxyHeader,
    Incomplete,
    parse_proxy_header,
)
from reference_broker.store.format.checksum import ChecksumKind
from reference_broker.testing.proxy_header import (
    LOCAL,
    RELAYED,
    TCP4,
    TCP6,
    header,
    health_check,
    relayed,
    tlv,
)

V4 = Ends("198.51.100.7", 40_000, "203.0.113.1", 5672)
V6 = Ends("2001:db8::7", 1, "2001:db8::1", 65_535)
MAPPED = Ends("::ffff:198.51.100.7", 1, "::1", 2)
ADDRESSES_4, ADDRESSES_6 = bytes(12), bytes(36)


@pytest.mark.parametrize("ends", [V4, V6, MAPPED], ids=lambda ends: ends.host)
@pytest.mark.parametrize("checksum", [False, True])
def test_the_ends_of_a_client(ends: Ends, checksum: bool) -> None:
    for tlvs in ([], [tlv(4, b"")], [tlv(0xE0, b"x" * 300), tlv(2, b"name")]):
        data = relayed(ends, *tlvs, checksum=checksum)
        assert parse_proxy_header(data) == ProxyHeader(ends)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(health_check(), id="health check"),
        pytest.param(header(LOCAL, TCP4, b"no address, no TLV"), id="its block is discarded"),
        pytest.param(header(LOCAL, 0xFF, b""), id="its family is ignored"),
        pytest.param(header(RELAYED, 0x00, b""), id="unknown"),
        pytest.param(header(RELAYED, 0x00, b"anything"), id="unknown, and something in it"),
        pytest.param(header(RELAYED, 0x12, ADDRESSES_4), id="UDP"),
        pytest.param(header(RELAYED, 0x22, ADDRESSES_6), id="UDP over IPv6"),
        pytest.param(header(RELAYED, 0x10, ADDRESSES_4), id="IPv4 without a transport"),
        pytest.param(header(RELAYED, 0x31, bytes(216) + tlv(4, b"x")), id="unix"),
    ],
)
def test_headers_that_name_no_client(data: bytes) -> None:
    assert parse_proxy_header(data) == ProxyHeader(None)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"AMQP\0\0\x09\x01", "sends no PROXY header, but speaks AMQP: proxies of --proxy-from"),
        (b"\x16\x03\x01\x02\x00\x01", "sends no PROXY header, but speaks TLS"),
        (b"GET / HTTP/1.1\r\n", "sends no PROXY header: proxies of --proxy-from have to"),
        (b"PROXY TCP4 198.51.100.7 203", "is version 1, and only version 2 is taken"),
        (header(0x31, TCP4, ADDRESSES_4), "has version 3"),
        (header(0x22, TCP4, ADDRESSES_4), "has command 2"),
        (header(RELAYED, 0x41, ADDRESSES_6), "family 0x41, which is none"),
        (header(RELAYED, 0x13, ADDRESSES_4), "family 0x13, which is none"),
        (header(RELAYED, TCP4, ADDRESSES_4[1:]), "11 bytes for its addresses, which take 12"),
        (header(RELAYED, TCP6, ADDRESSES_6[1:]), "35 bytes for its addresses, which take 36"),
        (header(RELAYED, 0x31, ADDRESSES_6), "36 bytes for its addresses, which take 216"),
        (header(RELAYED, TCP4, ADDRESSES_4 + b"\x04"), "in the middle of a TLV"),
        (header(RELAYED, TCP4, ADDRESSES_4 + b"\x04\x00\x01"), "in the middle of a TLV"),
        (header(RELAYED, TCP4, ADDRESSES_4 + tlv(3, b"123")), "a checksum of 3 bytes"),
        (header(RELAYED, TCP4, ADDRESSES_4 + tlv(3, b"1234")), "checksum of its PROXY header is"),
    ],
)
def test_what_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(BadProxyHeader, match=reason):
        parse_proxy_header(data)


def test_the_checksum_is_of_every_octet() -> None:
    good = relayed(V4, tlv(0xE0, b"x"), checksum=True)
    its_type = len(good) - 7  # of the TLV with the checksum: with another one there is none
    for at in (*range(FIXED_BYTES, its_type), *range(its_type + 1, len(good))):
        bad = bytearray(good)
        bad[at] ^= 1
        with pytest.raises(BadProxyHeader):
            parse_proxy_header(bytes(bad))


def test_without_its_package_a_checksum_is_a_tlv_like_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proxy_header, "PREFERRED", ChecksumKind.CRC32)
    data = header(RELAYED, TCP4, ADDRESSES_4 + tlv(3, b"1234"))
    assert parse_proxy_header(data) == ProxyHeader(Ends("0.0.0.0", 0, "0.0.0.0", 0))


def test_a_header_that_is_too_long_is_refused_before_it_has_come() -> None:
    longest = HEADER_BYTES_MAX - FIXED_BYTES
    fixed = header(LOCAL, 0, b"")[:-2]
    assert parse_proxy_header(fixed + struct.pack(">H", longest)) == Incomplete(longest)
    for length in (longest + 1, 0xFFFF):
        reason = f"has {FIXED_BYTES + length} bytes, and at most {HEADER_BYTES_MAX}"
        with pytest.raises(BadProxyHeader, match=reason):
            parse_proxy_header(fixed + struct.pack(">H", length))


HEADERS = st.sampled_from(
    [
        health_check(),
        relayed(V4),
        relayed(V4, tlv(4, bytes(700)), checksum=True),
        relayed(V6, tlv(2, b"name")),
        header(RELAYED, 0x31, bytes(216)),
    ]
)


@given(HEADERS, st.binary(max_size=40), st.data())
def test_however_it_is_cut_the_header_is_taken_and_not_an_octet_more(
    sent: bytes, behind: bytes, draw: st.DataObject
) -> None:
    whole = sent + behind
    taken, parsed = b"", parse_proxy_header(b"")
    while isinstance(parsed, Incomplete):
        come = draw.draw(st.integers(1, parsed.missing))
        taken += whole[len(taken) : len(taken) + come]
        parsed = parse_proxy_header(taken)
    assert taken == sent
    assert parsed == parse_proxy_header(sent)


@given(HEADERS, st.data())
def test_what_is_missing_is_never_more_than_what_comes(sent: bytes, draw: st.DataObject) -> None:
    cut = draw.draw(st.integers(0, len(sent) - 1))
    parsed = parse_proxy_header(sent[:cut])
    assert isinstance(parsed, Incomplete)
    assert 1 <= parsed.missing <= len(sent) - cut


@given(st.binary(max_size=80))
def test_other_octets_raise_nothing_else(data: bytes) -> None:
    for prefix in (b"", proxy_header.SIGNATURE):
        taken = b""
        for octet in prefix + data:
            taken += bytes([octet])
            try:
                parsed = parse_proxy_header(taken)
            except BadProxyHeader:
                break
            if isinstance(parsed, ProxyHeader):
                break
