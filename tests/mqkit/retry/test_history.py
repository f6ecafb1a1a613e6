"""The attempts of a delivery, and where its message came from: from its headers and its queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from mqkit.message import Delivery, Properties, count_attempts_by
from mqkit.retry import Failure, to_parking_lot, to_replay, to_tier

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FAILURE = Failure("ValueError", "no", AT)


@dataclass
class Rules:
    queue: str = "q"
    retries: int | None = 2
    parks_for: tuple[str, ...] = ()


def delivery(headers: Any = None, exchange: str = "events", key: str = "a.b") -> Delivery:
    return Delivery(exchange, key, b"", Properties(headers=headers or {}), 1, False)


def failed(message: Delivery, times: int, queue: str = "q") -> Delivery:
    """``message`` as it comes back over the default exchange."""
    for _ in range(times):
        message = delivery(to_tier(message, queue, 1, FAILURE).properties.headers, "", queue)
    return message


def counted(message: Delivery, rules: Rules) -> Delivery:
    count_attempts_by(rules, message)
    return message


@pytest.mark.parametrize(
    ("failures", "attempt", "left", "is_last"),
    [(0, 1, 2, False), (1, 2, 1, False), (2, 3, 0, True), (5, 6, 0, True)],
)
def test_failures_are_counted_against_the_policy(
    failures: int, attempt: int, left: int, is_last: bool
) -> None:
    message = counted(failed(delivery(), failures), Rules())
    assert (message.attempt, message.attempts_left) == (attempt, left)
    assert message.is_last_attempt is is_last


def test_without_a_policy_no_attempt_is_the_last() -> None:
    message = counted(failed(delivery(), 4), Rules(retries=None))
    assert (message.attempt, message.attempts_left, message.is_last_attempt) == (5, None, False)


def test_the_first_failure_and_the_way_it_came_are_kept() -> None:
    first, second = counted(delivery(), Rules()), counted(failed(delivery(), 2), Rules())
    assert first.first_failure is None
    assert second.first_failure == AT
    for message in (first, second):
        assert (message.original_exchange, message.original_routing_key) == ("events", "a.b")
    assert (second.exchange, second.routing_key) == ("", "q")


def test_what_another_queue_wrote_counts_nothing() -> None:
    message = counted(failed(delivery(), 2, queue="other"), Rules())
    assert (message.attempt, message.attempts_left) == (1, 2)
    assert message.first_failure is None
    assert (message.original_exchange, message.original_routing_key) == ("", "other")


def test_in_its_parking_lot_a_message_still_says_where_it_came_from() -> None:
    parked = to_parking_lot(failed(delivery(), 2), "q", "no", FAILURE).properties.headers
    message = counted(delivery(parked, "", "q.parked"), Rules("q.parked", None))
    assert (message.original_exchange, message.original_routing_key) == ("events", "a.b")
    assert message.first_failure == AT
    assert message.attempt == 1


def test_in_a_lot_with_a_name_of_its_own_it_says_so_too() -> None:
    parked = to_parking_lot(failed(delivery(), 2), "q", "no", FAILURE, lot="dlq")
    lying = delivery(parked.properties.headers, "", "dlq")
    message = counted(lying, Rules("dlq", None, ("p", "q")))
    assert (message.original_exchange, message.original_routing_key) == ("events", "a.b")
    strange = counted(delivery(parked.properties.headers, "", "dlq"), Rules("dlq", None, ("p",)))
    assert (strange.original_exchange, strange.original_routing_key) == ("", "dlq")


def test_a_replayed_message_has_all_its_attempts_again() -> None:
    replayed = to_replay(failed(delivery(), 2), "q").properties.headers
    message = counted(delivery(replayed, "", "q"), Rules())
    assert (message.attempt, message.first_failure) == (1, None)
    assert message.original_exchange == "events"


def test_a_delivery_of_nobody_says_what_its_headers_say() -> None:
    message = failed(delivery(), 2)
    assert (message.attempt, message.attempts_left, message.is_last_attempt) == (3, None, False)
    assert (message.first_failure, message.original_exchange) == (AT, "events")


@pytest.mark.parametrize(
    "headers",
    [
        {"x-mqkit-attempt": "many", "x-mqkit-first-failure": "yesterday"},
        {"x-mqkit-attempt": -1, "x-mqkit-first-failure": 7, "x-mqkit-original-exchange": 7},
        {"x-mqkit-attempt": True, "x-mqkit-original-routing-key": None},
    ],
)
@pytest.mark.parametrize("rules", [None, Rules()])
def test_headers_that_mqkit_did_not_write_do_no_harm(headers: Any, rules: Rules | None) -> None:
    message = delivery({"x-mqkit-queue": "q", **headers})
    if rules is not None:
        count_attempts_by(rules, message)
    assert (message.attempt, message.first_failure) == (1, None)
    assert (message.original_exchange, message.original_routing_key) == ("events", "a.b")


def test_who_counts_a_delivery_is_no_part_of_its_value() -> None:
    one, other = counted(delivery(), Rules()), delivery()
    assert one == other
    assert repr(one) == repr(other)
