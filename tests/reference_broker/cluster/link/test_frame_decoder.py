"""The decoder: the same frames however the bytes are cut, and a fault for what is none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.link.frame import (
    CONTINUES,
    FRAME_PAYLOAD_MAX,
    HEAD,
    HEAD_BYTES,
    MORE,
    encode_frame,
)
from reference_broker.cluster.link.frame_decoder import (
    GREETING_PAYLOAD_MAX,
    FrameDecoder,
)
from reference_broker.cluster.link.lane import REPLY, Lane
from reference_broker.errors import LinkError

Plain = tuple[int, int, int, bytes]

FRAMES: list[Plain] = [
    (Lane.PUBLISH, 1, 0, b"first"),
    (Lane.CONTROL, 3, 0, b""),
    (Lane.DELIVER, 2, CONTINUES, b"the end of something"),
    (Lane.REPLICATION, 255, 0, b"\0" * 40),
]


def encoded(frames: list[Plain]) -> bytes:
    return b"".join(
        encode_frame(Lane(lane), kind, payload, flags) for lane, kind, flags, payload in frames
    )


def opened() -> FrameDecoder:
    decoder = FrameDecoder()
    decoder.open_lanes()
    return decoder


def decoded(decoder: FrameDecoder, reads: list[bytes]) -> list[Plain]:
    found = []
    for read in reads:
        decoder.receive_data(read)
        while (frame := decoder.next_frame()) is not None:
            lane, kind, flags, payload = frame
            found.append((int(lane), kind, flags, b"".join(payload)))
    return found


plain_frames = st.lists(
    st.tuples(
        st.sampled_from(Lane),
        st.integers(0, REPLY - 1),
        st.just(0),
        st.one_of(st.binary(max_size=40), st.just(b"x" * 70_000)),
    ),
    max_size=6,
)


@given(plain_frames, st.lists(st.integers(0, 300_000), max_size=12))
def test_any_cuts_give_the_same_frames(frames: list[Plain], cuts: list[int]) -> None:
    data = encoded(frames)
    edges = [0, *sorted(min(each, len(data)) for each in cuts), len(data)]
    reads = [data[start:end] for start, end in pairwise(edges)]
    decoder = opened()
    assert decoded(decoder, reads) == frames
    assert decoder.buffered == 0


def test_a_byte_at_a_time() -> None:
    data = encoded(FRAMES)
    assert decoded(opened(), [data[at : at + 1] for at in range(len(data))]) == FRAMES


@pytest.mark.parametrize("size", [3, 5_000, 40_000, 1_000_000])
def test_full_parts_in_many_reads(size: int) -> None:
    full = bytes(range(256)) * (FRAME_PAYLOAD_MAX // 256)
    frames: list[Plain] = [
        (Lane.PUBLISH, 1, MORE, full),
        (Lane.PUBLISH, 1, MORE | CONTINUES, full[::-1]),
        (Lane.PUBLISH, 1, CONTINUES, b"end"),
    ]
    data = encoded(frames)
    reads = [data[at : at + size] for at in range(0, len(data), size)]
    assert decoded(opened(), reads) == frames


def test_a_frame_of_one_read_is_not_copied_and_a_continuing_one_not_even_of_several() -> None:
    decoder = opened()
    data = encode_frame(Lane.PUBLISH, 1, b"x" * 1_000)
    decoder.receive_data(data)
    frame = decoder.next_frame()
    assert frame is not None
    assert frame.payload[0].obj is data
    data = encode_frame(Lane.PUBLISH, 1, b"y" * 1_000, CONTINUES)
    reads = [data[:500], data[500:]]
    for read in reads:
        decoder.receive_data(read)
    frame = decoder.next_frame()
    assert frame is not None
    assert [part.obj for part in frame.payload] == reads


def test_each_flipped_bit_is_found() -> None:
    """A length that grew waits for what is not there; nothing else passes."""
    data = encoded(FRAMES)
    for bit in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        decoder = opened()
        decoder.receive_data(bytes(damaged))
        found: list[Plain] = []
        try:
            while (frame := decoder.next_frame()) is not None:
                lane, kind, flags, payload = frame
                found.append((int(lane), kind, flags, b"".join(payload)))
        except LinkError:
            pass
        else:
            assert decoder.buffered > 0, bit
        assert found == FRAMES[: len(found)], bit
        assert len(found) < len(FRAMES), bit


@pytest.mark.parametrize("at", [0, 100, 200_000])
def test_a_flipped_bit_in_a_continuing_part_is_found(at: int) -> None:
    data = bytearray(encode_frame(Lane.PUBLISH, 1, bytes(250_000), CONTINUES))
    data[HEAD_BYTES + at] ^= 4
    decoder = opened()
    for start in range(0, len(data), 50_000):
        decoder.receive_data(bytes(data[start : start + 50_000]))
    with pytest.raises(
        LinkError, match=r"250000 octets \(lane PUBLISH, kind 1\) has a wrong check"
    ):
        decoder.next_frame()


def head(length: int = 0, lane: int = Lane.PUBLISH, kind: int = 1, flags: int = 0) -> bytes:
    return HEAD.pack(0, length, lane, kind, flags)


@pytest.mark.parametrize(
    ("octets", "fault"),
    [
        (head(length=FRAME_PAYLOAD_MAX + 1), "a frame of 262145 octets, and 262144 are allowed"),
        (head(lane=5), "a frame of lane 5, which there is not"),
        (head(flags=4), "a frame with flags 0x04, which mean nothing"),
        (head(flags=MORE, length=9), "a part of 9 octets that is not the last, and not full"),
        (head(flags=MORE, lane=Lane.CONTROL), "lane CONTROL, kind 1: it has no parts"),
        (head(flags=CONTINUES, kind=REPLY | 1), "lane PUBLISH, kind 129: it has no parts"),
        (head(), r"a frame of 0 octets \(lane PUBLISH, kind 1\) has a wrong checksum"),
    ],
    ids=["length", "lane", "flags", "part", "control", "reply", "checksum"],
)
def test_a_fault_is_named_as_soon_as_the_head_shows_it(octets: bytes, fault: str) -> None:
    decoder = opened()
    decoder.receive_data(octets)
    with pytest.raises(LinkError, match=fault):
        decoder.next_frame()


def test_before_the_handshake_is_over_little_is_taken() -> None:
    decoder = FrameDecoder()
    decoder.receive_data(head(lane=Lane.CONTROL, length=GREETING_PAYLOAD_MAX + 1))
    with pytest.raises(LinkError, match="4097 octets, and 4096 are allowed"):
        decoder.next_frame()
    decoder = FrameDecoder()
    decoder.receive_data(head(lane=Lane.PUBLISH))
    with pytest.raises(LinkError, match="lane PUBLISH, and only control may come"):
        decoder.next_frame()
    decoder = FrameDecoder()
    assert decoded(decoder, [encoded([(Lane.CONTROL, 0, 0, b"hello")])])


def test_a_node_that_begins_with_tls_is_named_as_such() -> None:
    hello = bytes.fromhex("16030102000100 01fc0303")
    decoder = FrameDecoder()
    decoder.receive_data(hello)
    with pytest.raises(LinkError, match="the other node has TLS, and this one has none"):
        decoder.next_frame()
    decoder = opened()
    decoder.receive_data(hello)
    with pytest.raises(LinkError, match="lane 252, which there is not"):
        decoder.next_frame()
