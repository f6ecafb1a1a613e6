from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.events.standings import QueueStanding, Standing
from reference_broker.simulation.watch.calm import (
    CALM_REST_US,
    LATE_MS,
    LATELY_MS,
    LONGEST_US,
    judge,
    judge_overdue,
    judge_room,
)
from reference_broker.simulation.watch.checkers import Violation

NOW_MS = 100_000
IDLE = QueueStanding(0, 0, has_ttl=False)
BUSY = QueueStanding(3, 0, has_ttl=False, long_ready=2)
WAITING = QueueStanding(1, 0, has_ttl=True)


def judged(queue: QueueStanding = IDLE, *, unblocked_us: int = LONGEST_US, **client: Any) -> None:
    standing = Standing("a client", **{"is_connected": True, **client})
    judge([standing], {"q": queue}, NOW_MS, unblocked_us=unblocked_us)


def test_who_has_everything_has_no_complaint() -> None:
    judged()
    judged(BUSY)  # nobody consumes it
    judged(BUSY, handed_ms={"q": NOW_MS - LATELY_MS})
    judged(BUSY._replace(long_ready=0), handed_ms={"q": 0})  # it has become ready just now
    judged(handed_ms={"q": 0, "deleted": 0})
    judged(QueueStanding(0, 0, has_ttl=True))


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ({"is_connected": False}, "a client is not connected after 30 s of calm"),
        ({"asked": 2}, "2 requests without an answer"),
        ({"published": 2}, "2 messages neither confirmed nor refused"),
        (
            {"handed_ms": {"q": NOW_MS - LATELY_MS - 1}},
            "'q' has had 2 messages ready for 8 s, and a client consumes it and was handed none",
        ),
        ({"handed_ms": {"q": 0}}, "handed none"),
    ],
)
def test_a_client_that_waits_is_seen(client: dict[str, Any], said: str) -> None:
    with pytest.raises(Violation, match=f"liveness: .*{said}"):
        judged(BUSY, **client)


def test_a_blocked_client_waits_but_is_connected() -> None:
    judged(BUSY, unblocked_us=0, asked=1, published=1, handed_ms={"q": 0})
    judged(QueueStanding(0, 1, has_ttl=False), unblocked_us=0)  # it was let in just now
    with pytest.raises(Violation, match="not connected"):
        judged(unblocked_us=0, is_connected=False)


def test_what_an_alarm_has_held_back_has_its_time() -> None:
    judged(unblocked_us=CALM_REST_US - 1, published=1)
    judged(BUSY, unblocked_us=LATELY_MS * 1_000 - 1, handed_ms={"q": 0})
    judged(WAITING, unblocked_us=LONGEST_US - 1)
    with pytest.raises(Violation, match="neither confirmed nor refused"):
        judged(unblocked_us=CALM_REST_US, published=1)
    with pytest.raises(Violation, match="handed none"):
        judged(BUSY, unblocked_us=LATELY_MS * 1_000, handed_ms={"q": 0})
    with pytest.raises(Violation, match="lateness"):
        judged(WAITING, unblocked_us=LONGEST_US)


def test_the_alarm_of_a_disk_that_has_room_is_no_good() -> None:
    judge_room(alarm_on=True, has_room=False)
    judge_room(alarm_on=False, has_room=True)
    with pytest.raises(Violation, match="liveness: the disk has had room for 30 s"):
        judge_room(alarm_on=True, has_room=True)


def test_what_waits_for_a_time_that_is_over_is_late() -> None:
    with pytest.raises(Violation, match="lateness: 'q' has 1 messages whose TTL is over"):
        judged(WAITING)
    with pytest.raises(Violation, match="lateness: 'q' holds 2 messages back that were due"):
        judged(QueueStanding(0, 2, has_ttl=False))


def test_what_was_due_long_ago_is_late_at_any_time() -> None:
    judge_overdue({"q": LATE_MS})
    with pytest.raises(Violation, match="lateness: 'q' has a message that was due 3001 ms ago"):
        judge_overdue({"p": 0, "q": LATE_MS + 1})
