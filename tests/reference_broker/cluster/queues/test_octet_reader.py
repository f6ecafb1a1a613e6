"""octet_reader: a payload is read from its beginning to its end, whatever pieces it came in."""

from __future__ import annotations

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.errors import LinkError

_FIELDS = struct.Struct(">HI")


@given(octets=st.binary(max_size=60), cuts=st.lists(st.integers(0, 60)), sizes=st.data())
def test_it_gives_the_same_however_the_payload_is_cut(
    octets: bytes, cuts: list[int], sizes: st.DataObject
) -> None:
    places = sorted({0, len(octets), *(cut for cut in cuts if cut < len(octets))})
    pieces = [octets[a:b] for a, b in itertools.pairwise(places)] or [b""]
    reader = OctetReader([memoryview(piece) for piece in pieces])
    taken = b""
    while not reader.is_at_end:
        taken += reader.take(sizes.draw(st.integers(0, len(octets) - len(taken))))
    assert taken == octets


@pytest.mark.parametrize("cut", [1, 3, 5, 6])
def test_fields_may_lie_across_pieces(cut: int) -> None:
    octets = _FIELDS.pack(7, 9) + b"rest"
    reader = OctetReader([memoryview(octets[:cut]), memoryview(octets[cut:])])
    assert reader.unpack(_FIELDS) == (7, 9)
    assert reader.take(4) == b"rest"
    assert reader.is_at_end


def test_more_than_there_is_can_not_be_taken() -> None:
    with pytest.raises(LinkError, match="ends 2 octets too early"):
        OctetReader([memoryview(b"ab"), memoryview(b"c")]).take(5)
    with pytest.raises(LinkError, match="ends 4 octets too early"):
        OctetReader([memoryview(b"ab")]).unpack(_FIELDS)


def test_what_is_taken_does_not_keep_the_payload() -> None:
    octets = bytearray(b"abcd")
    view = memoryview(octets)
    taken = OctetReader([view]).take(4)
    octets[0] = 0
    assert taken == b"abcd"
