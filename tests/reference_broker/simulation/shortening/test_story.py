"""A story tells what says most about a failure, in its order, and fits on a screen."""

from __future__ import annotations

from reference_broker.simulation.shortening.chronicle import Happening
from reference_broker.simulation.shortening.story import EVENTS, told


def event(us: int, number: int = 0, queue: str = "", feature: str = "") -> Happening:
    return Happening(us, f"at {us}", number, (queue,) if queue else (), feature)


def texts(lines: list[str]) -> list[str]:
    """Of the events, without the first line and the reason."""
    return [line.split(None, 1)[1] for line in lines[1:] if "FAILED" not in line]


def test_the_message_that_is_named_comes_first_then_the_broker_then_its_queue() -> None:
    events = [
        event(1),
        event(2, 7, "a"),
        event(3, 8, "b"),
        event(4, 9, "a"),
        event(5, 7, "a"),
        event(6, 8, "b"),
    ]
    lines = told(events, "acks: message 7 was delivered from 'a' again")
    assert texts(lines) == ["at 1", "at 2", "at 4", "at 5"]
    assert lines[0] == "story     4 of 6 events, by virtual seconds"
    assert lines[1] == "    0.000001  at 1"
    assert lines[-1] == "  FAILED      acks: message 7 was delivered from 'a' again"


def test_a_feature_has_message_numbers_of_its_own() -> None:
    events = [event(1, 7, "a"), event(2, 7, "a", "quorum"), event(3, 7, "a", "delayed")]
    assert texts(told(events, "quorum: message 7 came from 'a' a second time as new")) == ["at 2"]
    assert texts(told(events, "acks: message 7 is in 'a' again after a start")) == ["at 1"]


def test_where_no_message_is_named_the_last_others_fill_it() -> None:
    events = [event(us, us, "b") for us in range(1, 100)]
    lines = told(events, "liveness: client 0 is not connected")
    assert texts(lines) == [f"at {us}" for us in range(100 - EVENTS, 100)]


def test_however_much_happened_it_has_under_60_lines_of_bounded_length() -> None:
    events = [
        *(event(us) for us in range(100)),
        *(event(us, 7, "a") for us in range(100, 200)),
        *(Happening(us, "x" * 1_000, 8, ("a",)) for us in range(200, 300)),
    ]
    lines = told(events, "acks: message 7 in 'a', " + "y" * 1_000)
    assert len(lines) == EVENTS + 2 < 60
    assert max(map(len, lines)) <= 280


def test_of_a_traceback_the_last_line_is_told() -> None:
    assert told([], "Traceback\n  of many lines\nKeyError: 'q'\n") == [
        "story     0 of 0 events, by virtual seconds",
        "  FAILED      KeyError: 'q'",
    ]


def test_without_a_failure_the_last_events_are_told() -> None:
    assert texts(told([event(1), event(2, 3, "a")], "")) == ["at 1", "at 2"]
