"""The frame parser: however the bytes are cut, the same frames and the same error come out."""

from __future__ import annotations

from fuzz.target import Target
from mqkit.wire import (
    HEARTBEAT_FRAME,
    Frame,
    FrameParser,
    Properties,
    WireError,
    content_frames,
    method_frame,
)
from mqkit.wire.methods import BasicPublish, ChannelOpen

SPLITS_MAX = 64
"""Of longer inputs, so many places are tried."""


def _parsed(pieces: list[bytes]) -> tuple[list[Frame], str]:
    parser = FrameParser()
    frames: list[Frame] = []
    try:
        for piece in pieces:
            parser.receive_data(piece)
            while (frame := parser.next_frame()) is not None:
                frames.append(frame)
    except WireError as error:
        return frames, str(error.reply_code)
    return frames, str(parser.buffered)


def check(data: bytes) -> None:
    """Every split in two, and one byte at a time, is as good as one piece."""
    whole = _parsed([data])
    step = max(1, len(data) // SPLITS_MAX)
    for cut in range(0, len(data), step):
        assert _parsed([data[:cut], data[cut:]]) == whole, f"cut at {cut}"
    assert _parsed([data[at : at + 1] for at in range(len(data))]) == whole


def seeds() -> list[bytes]:
    publish = content_frames(1, BasicPublish("e", "k"), Properties(), b"body" * 9, 4096)
    return [method_frame(1, ChannelOpen()), HEARTBEAT_FRAME * 2, publish]


TARGET = Target("frames", check, seeds)
