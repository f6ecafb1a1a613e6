"""The position of the first basic.publish of some input. Everything else about the loop is tested
through a connection (test_connection.py, test_publish.py)."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import BasicAck, BasicPublish
from reference_broker.core.connection.frame_loop import first_publish

ACK = method_frame(1, BasicAck(1, False))
PUBLISH = content_frames(2, BasicPublish("", "q"), Properties(), b"body", frame_max=4096)
HEARTBEAT = b"\x08\x00\x00\x00\x00\x00\x00\xce"


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", 0),
        (ACK, len(ACK)),
        (PUBLISH, 0),
        (ACK + HEARTBEAT + PUBLISH + PUBLISH, len(ACK) + len(HEARTBEAT)),
        (ACK + PUBLISH[:11], len(ACK)),  # as soon as it can be told
        (ACK + PUBLISH[:10], len(ACK) + 10),
        (ACK[:-1], len(ACK) - 1),
        (PUBLISH[len(method_frame(2, BasicPublish("", "q"))) :] + ACK, None),
        (b"no frames at all", None),
    ],
)
def test_the_first_publish(data: bytes, place: int | None) -> None:
    assert first_publish(data) == (len(data) if place is None else place)
