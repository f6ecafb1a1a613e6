"""Deaths: logged where the queue is durable, the message is in the log, and it had an entry."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.message.content import Content
from reference_broker.core.queue.death import Death, DeathReason
from reference_broker.testing.lone_queue import QueueHost

HEADER = encode_header(0, Properties())


@pytest.mark.parametrize(
    ("durable", "sequence", "position", "logged"),
    [
        (True, 5, 0, True),
        (True, 5, -1, False),
        (True, 5, -7, False),
        (False, 5, 0, False),
        (True, -1, 0, False),
    ],
)
def test_the_log_has_the_entry(durable: bool, sequence: int, position: int, logged: bool) -> None:
    """-1 is memory alone, below are pages; sequence -1 is of a publish that was refused."""
    queue = QueueHost().declare("q", durable=durable)
    content = Content(b"\0\1q", HEADER, b"", position)
    assert Death(queue, sequence, content, DeathReason.EXPIRED).is_logged is logged


def test_the_reasons_are_those_of_x_death() -> None:
    assert list(DeathReason) == ["expired", "maxlen", "rejected", "delivery_limit"]
