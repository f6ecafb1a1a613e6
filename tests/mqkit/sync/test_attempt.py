"""mqkit.sync.attempt: outcomes that come from any thread, in any order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Unknown
from mqkit.sync.attempt import LOOK_EVERY_S, Attempt
from mqkit.transport.blocking import BlockingChannel
from mqkit.transport.seam import OnSettled

UNSENT = Unknown("not sent", sent=False)
MESSAGE = Message("", "q", b"")


class Channel:
    """Keeps what it was given, for the test to settle."""

    def __init__(self) -> None:
        self.given: list[OnSettled] = []
        self.timeouts_s: list[float] = []

    def publish_run(
        self, messages: Sequence[Message], on_settled: OnSettled, *, timeout_s: float
    ) -> None:
        self.given.append(on_settled)
        self.timeouts_s.append(timeout_s)


def write(attempt: Attempt, channel: Channel, count: int, left_s: float = 20.0) -> None:
    until_s = time.monotonic() + left_s
    attempt.write(cast(BlockingChannel, channel), [MESSAGE] * count, until_s)


def test_outcomes_of_slices_come_to_their_places() -> None:
    attempt, channel = Attempt(5), Channel()
    write(attempt, channel, 2)
    write(attempt, channel, 3)
    channel.given[1](1, [Confirmed("d"), Confirmed("e")])
    channel.given[0](0, [Confirmed("a"), Confirmed("b")])
    channel.given[1](0, [Confirmed("c")])
    attempt.wait(time.monotonic() + 20)
    assert attempt.outcomes == [Confirmed(each) for each in "abcde"]
    assert attempt.sent == [0, 1, 2, 3, 4]
    assert not attempt.is_held_up


def test_what_did_not_get_its_turn_was_not_sent() -> None:
    attempt, channel = Attempt(6), Channel()
    write(attempt, channel, 3)
    lost: list[Outcome] = [Confirmed(), Unknown("lost"), UNSENT]
    channel.given[0](0, lost)
    assert attempt.is_held_up
    attempt.wait(time.monotonic() + 20)
    assert attempt.outcomes == [*lost, None, None, None]
    assert attempt.sent == [0, 1]


def test_the_wait_ends_with_the_time_and_what_comes_later_hurts_nobody() -> None:
    attempt, channel = Attempt(1), Channel()
    write(attempt, channel, 1)
    attempt.wait(time.monotonic())
    assert (attempt.outcomes, attempt.sent) == ([None], [0])
    channel.given[0](0, [Confirmed()])


def test_room_is_waited_for_in_short_looks_and_never_longer_than_there_is_time() -> None:
    attempt, channel = Attempt(3), Channel()
    for left_s in (20.0, -1.0, 0.05):
        write(attempt, channel, 1, left_s)
    longest, over, short = cast(Any, channel.timeouts_s)
    assert (longest, over) == (LOOK_EVERY_S, 0)
    assert 0 <= short <= 0.05
