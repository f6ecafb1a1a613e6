"""Field tables: decode, encode, decode is a fixed point."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from fuzz.target import Target
from mqkit.wire import WireError, decode_sized_table, decode_table, encode_table


def check(data: bytes) -> None:
    """In each of the ways to read one. With ``exact`` no octet changes, but what is said in two
    ways: a 64-bit integer's letter, and any true octet. (An entry whose name was there is dropped.)
    """
    for exact in (False, True):
        try:
            table, end = decode_table(data, exact=exact)
        except WireError:
            continue
        assert end <= len(data)
        encoded = encode_table(table)
        again, _ = decode_table(encoded, exact=exact)
        assert repr(again) == repr(table), f"{exact=}"
        assert encode_table(again) == encoded
        if exact and len(encoded) == end:
            assert all(map(_same, data, encoded)), "exact"
    try:
        sized, _ = decode_sized_table(data)
    except WireError:
        return
    encoded = encode_table(sized)
    again, _ = decode_sized_table(encoded)
    assert repr(again) == repr(sized)
    assert encode_table(again) == encoded, "sized"


def _same(octet: int, written: int) -> bool:
    return octet == written or (octet, written) == (ord("L"), ord("l")) or octet > written == 1


def seeds() -> list[bytes]:
    table = {
        "numbers": [1, -1, 1 << 40, 1.5, Decimal("1.25")],
        "texts": ["text", b"\xff\x00", ""],
        "others": [True, None, datetime(2026, 1, 1, tzinfo=UTC)],
        "deep": {"deeper": {"deepest": [[[]]]}},
    }
    return [encode_table({}), encode_table(table)]


TARGET = Target("tables", check, seeds)
