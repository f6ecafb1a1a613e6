"""The warnings about a client that is not ready: which, and how many."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from mqkit.errors import ConnectionLost, Unreachable
from mqkit.supervision.readiness_log import ATTEMPTS_TOLD, OUTAGES_TOLD, ReadinessLog
from mqkit.supervision.states import Change, Event, State, after
from mqkit.testing.clock import FakeClock

DOWN = Unreachable("nobody answers at 127.0.0.1:5672")
LOST = ConnectionLost("the peer closed the connection")


class Client:
    """A supervisor as its log sees it."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.clock = FakeClock()
        self.log = ReadinessLog(self.clock)
        self.state = State.CONNECTING
        self._caplog = caplog
        self.log.begin()

    def fire(self, *events: Event, detail: str = "") -> None:
        for event in events:
            change = Change(self.state, event, after(self.state, event), detail)
            self.state = change.after
            self.log.changed(change)

    def told(self) -> list[str]:
        """The lines since the last call."""
        records = list(self._caplog.records)
        self._caplog.clear()
        assert {record.levelno for record in records} <= {logging.WARNING}
        return [record.getMessage() for record in records]

    def pass_minutes(self, number: int) -> None:
        for _ in range(number):
            wait_s = self.log.reminder_s
            assert wait_s is not None
            self.clock.advance(wait_s)
            self.log.remind("connecting: nobody answers")


@pytest.fixture
def client(caplog: pytest.LogCaptureFixture) -> Iterator[Client]:
    with caplog.at_level(logging.DEBUG, logger="mqkit"):
        yield Client(caplog)


def test_a_start_that_works_says_nothing(client: Client) -> None:
    client.fire(Event.CONNECTED, Event.DECLARED)
    assert client.told() == []
    assert client.log.reminder_s is None


def test_the_first_attempts_are_a_line_each_and_then_a_minute_is(client: Client) -> None:
    for _ in range(20):
        client.clock.advance(1.0)
        client.log.failed(DOWN)
    line = f"can't connect, trying again: {DOWN}"
    assert client.told() == [line] * ATTEMPTS_TOLD
    client.pass_minutes(2)
    assert client.told() == [
        "not ready for 1 min; connecting: nobody answers",
        "not ready for 2 min; connecting: nobody answers",
    ]
    client.clock.advance(57.0)
    client.fire(Event.CONNECTED, Event.DECLARED)
    assert client.told() == ["ready again after 3 min"]


def test_a_lost_connection_and_its_end(client: Client) -> None:
    client.fire(Event.CONNECTED, Event.DECLARED, Event.LOST)
    client.log.failed(LOST)
    client.log.failed(DOWN)
    client.clock.advance(1.5)
    client.fire(Event.CONNECTED, Event.DECLARED)
    assert client.told() == [
        f"the connection is lost, trying again: {LOST}",
        f"can't connect, trying again: {DOWN}",
        "ready again after 1.5 s",
    ]


def test_a_setup_that_fails_is_told_as_one(client: Client) -> None:
    client.fire(Event.CONNECTED, Event.LOST)
    client.log.failed(LOST)
    (line,) = client.told()
    assert line == f"connected, but topology and consumers are not set up, trying again: {LOST}"


def test_a_block_is_told_once_and_its_end(client: Client) -> None:
    client.fire(Event.CONNECTED, Event.DECLARED)
    client.fire(Event.BLOCKED, Event.BLOCKED, detail="low on memory")
    assert client.told() == ["the broker blocks publishing: low on memory"]
    client.pass_minutes(1)
    assert client.told() == ["not ready for 1 min; connecting: nobody answers"]
    client.fire(Event.UNBLOCKED)
    assert client.told() == ["ready again after 1 min"]


def test_readiness_that_comes_and_goes_is_told_a_few_times_and_then_once_a_minute(
    client: Client,
) -> None:
    client.fire(Event.CONNECTED, Event.DECLARED)
    for _ in range(100):
        client.fire(Event.LOST)
        client.log.failed(LOST)
        client.fire(Event.CONNECTED, Event.DECLARED)
    assert len(client.told()) == 2 * (OUTAGES_TOLD - 1)  # the start was one
    client.clock.advance(60.0)
    client.fire(Event.LOST)
    client.log.failed(LOST)
    client.fire(Event.CONNECTED, Event.DECLARED)
    assert len(client.told()) == 2


@pytest.mark.parametrize("end", [Event.DRAIN, Event.CLOSE])
def test_a_client_that_ends_is_not_reminded_of(client: Client, end: Event) -> None:
    client.fire(end)
    assert client.log.reminder_s is None
    client.log.remind("closed")
    client.log.failed(DOWN)
    assert client.told() == []


def test_a_problem_of_many_lines_is_one_line(client: Client) -> None:
    client.log.failed(ValueError("one\n  two\n\nthree"))
    client.log.failed(ValueError())
    assert client.told() == [
        "can't connect, trying again: one two three",
        "can't connect, trying again: ValueError",
    ]
