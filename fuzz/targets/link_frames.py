"""The link between nodes: however its bytes are cut the same comes out, and no frame, sound or not,
does more than end it."""

from __future__ import annotations

from fuzz.target import Target
from reference_broker.cluster.link.asks import TOKEN
from reference_broker.cluster.link.assembly import Assembly
from reference_broker.cluster.link.credit import Credit
from reference_broker.cluster.link.frame import FLAGS, encode_frame
from reference_broker.cluster.link.frame_decoder import FrameDecoder
from reference_broker.cluster.link.handshake import Role
from reference_broker.cluster.link.heartbeats import Heartbeats, Report
from reference_broker.cluster.link.lane import AskKind, ControlKind, Lane
from reference_broker.errors import LinkError
from reference_broker.testing.link_pair import LinkPair, identity

SPLITS_MAX = 64
"""Of longer inputs, so many places are tried."""

_HEAD_BYTES = 4
_LANES = tuple(Lane)

Plain = tuple[int, int, bytes]


def _decoded(pieces: list[bytes]) -> tuple[list[Plain], str]:
    decoder, assembly = FrameDecoder(), Assembly()
    decoder.open_lanes()
    messages: list[Plain] = []
    try:
        for piece in pieces:
            decoder.receive_data(piece)
            while (frame := decoder.next_frame()) is not None:
                message = assembly.take(frame)
                if message is not None:
                    lane, kind, payload = message
                    messages.append((lane, kind, bytes(payload)))
    except LinkError as error:
        return messages, str(error)
    return messages, str(decoder.buffered)


def _framed(data: bytes) -> bytes:
    """The bytes as sound frames: four say lane, kind, flags and length, and so on."""
    frames = []
    while len(data) >= _HEAD_BYTES:
        lane, kind, flags, length = data[:_HEAD_BYTES]
        payload = data[_HEAD_BYTES : _HEAD_BYTES + length]
        data = data[_HEAD_BYTES + length :]
        frames.append(encode_frame(_LANES[lane % len(_LANES)], kind, payload, flags & FLAGS))
    return b"".join(frames)


def _described(lane: Lane, kind: int, payload: bytes) -> bytes:
    return bytes((lane, kind, 0, len(payload))) + payload


def _cuts_do_not_matter(data: bytes) -> None:
    whole = _decoded([data])
    step = max(1, len(data) // SPLITS_MAX)
    for cut in range(0, len(data), step):
        assert _decoded([data[:cut], data[cut:]]) == whole, f"cut at {cut}"
    assert _decoded([data[at : at + 1] for at in range(len(data))]) == whole


def check(data: bytes) -> None:
    """The bytes as they are, and as the contents of sound frames; on a link that has just begun,
    and on an open one."""
    framed = _framed(data)
    for octets in (data, framed):
        _cuts_do_not_matter(octets)
        for pair in (LinkPair(), LinkPair().opened()):
            link = pair.acceptor.link
            link.receive_data(octets, pair.now)
            while link.more_waits:
                link.advance(pair.now)
            link.tick(pair.now + 1)
            link.data_to_send()
            assert len(pair.acceptor.downs) == bool(link.reason)


def seeds() -> list[bytes]:
    who = identity(Role.DIALER)
    beat = Heartbeats(1_000.0).beat(1_000.0, Report()) or b""
    return [
        _described(Lane.CONTROL, ControlKind.HELLO, who.hello.encode(who.nonce)),
        _described(Lane.CONTROL, ControlKind.HEARTBEAT, beat)
        + _described(Lane.CONTROL, ControlKind.CREDIT, Credit(Lane.PUBLISH, 0).encode()),
        _described(Lane.ASK, AskKind.ASK, TOKEN.pack(1) + b"what") * 2
        + _described(Lane.ASK, AskKind.ANSWER, TOKEN.pack(1)),
        _described(Lane.PUBLISH, 1, b"a message") + _described(Lane.CONTROL, 17, b"of the owner"),
        encode_frame(Lane.DELIVER, 2, b"a delivery") * 2,
    ]


TARGET = Target("link_frames", check, seeds)
