"""Property lists: written by the checker, read by mqkit's codec, so that each checks the other."""

from __future__ import annotations

from decimal import Decimal

from interop.archives.octets import counted, encoded, entry, parts_of, table
from mqkit.transport.native.exact import from_octets, wire_properties

HEADERS = table(
    [
        ("t", ("t", True)),
        ("s", ("s", -2)),
        ("D", ("D", (2, 314))),
        ("void", ("V", None)),
        ("list", ("A", [("S", b"x"), ("b", -1), ("F", [("in", ("I", 5))])])),
        ("text", ("S", "ü".encode())),
    ]
)
OCTETS = encoded(
    {"content_type": "a/b", "delivery_mode": 2, "timestamp": 7, "user_id": "guest"}, HEADERS
)


def test_the_product_reads_what_is_written() -> None:
    wire = wire_properties(OCTETS)
    assert (wire.content_type, wire.delivery_mode, wire.user_id) == ("a/b", 2, "guest")
    headers = from_octets(OCTETS).headers
    assert headers["t"] is True
    assert (headers["s"], headers["D"]) == (-2, Decimal("3.14"))
    assert headers["void"] is None
    assert list(headers) == ["t", "s", "D", "void", "list", "text"]


def test_it_is_taken_apart_again() -> None:
    properties, headers = parts_of(OCTETS)
    assert properties == {
        "content_type": b"\x03a/b",
        "delivery_mode": b"\x02",
        "timestamp": (7).to_bytes(8, "big"),
        "user_id": b"\x05guest",
    }
    assert headers["s"] == b"s\xff\xfe"
    assert headers["void"] == b"V"
    assert headers["D"] == b"D\x02" + (314).to_bytes(4, "big")
    assert headers["list"] == b"A" + counted(
        b"S\x00\x00\x00\x01x" + b"b\xff" + b"F" + counted(entry("in", ("I", 5)))
    )
    assert list(headers) == ["t", "s", "D", "void", "list", "text"]


def test_without_headers_and_without_anything() -> None:
    assert encoded({}, None) == b"\0\0"
    assert parts_of(b"\0\0") == ({}, {})
    assert parts_of(encoded({"app_id": ""}, None)) == ({"app_id": b"\0"}, {})
