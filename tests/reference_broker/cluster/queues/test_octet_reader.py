"""octet_reader: a payload is read from its beginning to its end, and is let go of."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.link.frame import FRAME_PAYLOAD_MAX
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.errors import LinkError

_FIELDS = struct.Struct(">HI")


@given(octets=st.binary(max_size=60), sizes=st.data())
def test_it_gives_one_after_another(octets: bytes, sizes: st.DataObject) -> None:
    reader = OctetReader(memoryview(octets))
    taken = b""
    while not reader.is_at_end:
        taken += reader.take(sizes.draw(st.integers(0, len(octets) - len(taken))))
    assert taken == octets


def test_fields_and_what_comes_behind() -> None:
    reader = OctetReader(memoryview(_FIELDS.pack(7, 9) + b"rest"))
    assert reader.unpack(_FIELDS) == (7, 9)
    assert reader.take(4) == b"rest"
    assert reader.is_at_end


def test_more_than_there_is_can_not_be_taken() -> None:
    with pytest.raises(LinkError, match="ends 2 octets too early"):
        OctetReader(memoryview(b"abc")).take(5)
    with pytest.raises(LinkError, match="ends 4 octets too early"):
        OctetReader(memoryview(b"ab")).unpack(_FIELDS)
    with pytest.raises(LinkError, match="ends 1 octets too early"):
        OctetReader(memoryview(b"ab")).take_body(3)


@pytest.mark.parametrize("size", [4, FRAME_PAYLOAD_MAX])
def test_what_is_taken_does_not_keep_the_payload(size: int) -> None:
    octets = bytearray(size)
    taken = OctetReader(memoryview(octets)).take(size)
    body = OctetReader(memoryview(octets)).take_body(size)
    octets[0] = 1
    assert taken == body == bytes(size)


def test_a_body_that_is_larger_than_a_frame_is_not_copied() -> None:
    block = b"head" + bytes(FRAME_PAYLOAD_MAX + 1)
    reader = OctetReader(memoryview(block))
    assert reader.take(4) == b"head"
    body = reader.take_body(FRAME_PAYLOAD_MAX + 1)
    assert isinstance(body, memoryview)
    assert body.obj is block
    assert reader.is_at_end
