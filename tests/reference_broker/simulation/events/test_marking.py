from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.dead_letter.x_death import with_x_death
from reference_broker.core.queue.death import DeathReason
from reference_broker.simulation.events.events import DeathNote, Message
from reference_broker.simulation.events.marking import marks_of, properties_of


def message() -> Message:
    return Message(17, 1, ("q",), True, 0, priority=3, expiration_ms=500)


def dead(header: bytes, queue: str, reason: DeathReason) -> bytes:
    return with_x_death(
        header,
        queue=queue,
        reason=reason,
        wall_ms=0,
        exchange=b"",
        routing_key=b"q",
        keep_cc=False,
    )


def test_a_message_is_known_by_its_number() -> None:
    marks = marks_of(encode_header(0, properties_of(message())))
    assert (marks.number, marks.deaths, marks.history) == (17, 0, ())
    assert marks.properties == properties_of(message())


def test_a_dead_letter_tells_where_it_died_and_how_often() -> None:
    header = encode_header(0, properties_of(message()))
    for queue, reason in (
        ("q", DeathReason.REJECTED),
        ("wait", DeathReason.EXPIRED),
        ("q", DeathReason.REJECTED),
    ):
        header = dead(header, queue, reason)
    marks = marks_of(header)
    assert marks.deaths == 3
    assert marks.history == (DeathNote("q", "rejected", 2), DeathNote("wait", "expired", 1))
    assert (marks.first_death, marks.last_death) == (("q", "rejected"), ("q", "rejected"))
    assert marks.properties == properties_of(message(), dead=True)


def test_another_header_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        marks_of(encode_header(0, Properties()))
