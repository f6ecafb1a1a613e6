"""The decision what becomes of a delivery."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mqkit.consumer.settlement import (
    Ack,
    DeadLetter,
    Destination,
    Discard,
    QueueRules,
    Republish,
    Requeue,
    Settlement,
    settlement_of,
    warn_of_unknown_errors,
)
from mqkit.incoming import BodyMisfit
from mqkit.message import Delivery, Properties
from mqkit.retry import Drop, Park, RetryLater, RetryPolicy, Then
from mqkit.topology import DeadLetter as DeadLetterModel
from mqkit.topology import QueueModel

AT = datetime(2026, 1, 2, tzinfo=UTC)
POLICY = RetryPolicy.of("1s", "5s")
RETRYING = QueueRules("q", POLICY)
PLAIN = QueueRules("q")
LETTERING = QueueRules("q", dead_letters=True)


def delivery(failures: int = 0, queue: str = "q") -> Delivery:
    headers: dict[str, Any] = {"mine": 1}
    if failures:
        headers |= {"x-mqkit-attempt": failures, "x-mqkit-queue": queue}
    return Delivery("x", "key", b"body", Properties(headers=headers, message_id="m"), 1, False)


def settle(rules: QueueRules, raised: BaseException | None, failures: int = 0) -> Settlement:
    return settlement_of(rules, delivery(failures), raised, AT)


@pytest.mark.parametrize("rules", [RETRYING, PLAIN, LETTERING])
def test_a_handler_that_returned_is_acked(rules: QueueRules) -> None:
    assert settle(rules, None) == Ack()


@pytest.mark.parametrize(("failures", "tier"), [(0, "q.retry.1s"), (1, "q.retry.5s")])
def test_each_failure_goes_to_the_next_tier(failures: int, tier: str) -> None:
    settlement = settle(RETRYING, ValueError("no"), failures)
    assert isinstance(settlement, Republish)
    assert settlement.to is Destination.TIER
    assert (settlement.message.exchange, settlement.message.routing_key) == ("", tier)
    assert settlement.message.properties.headers["x-mqkit-attempt"] == failures + 1
    assert settlement.message.properties.headers["x-mqkit-error-message"] == "no"
    assert settlement.message.body == b"body"


def test_after_the_last_tier_it_is_parked() -> None:
    settlement = settle(RETRYING, ValueError("no"), 2)
    assert isinstance(settlement, Republish)
    assert settlement.to is Destination.PARKING_LOT
    assert settlement.message.routing_key == "q.parked"


@pytest.mark.parametrize(("failures", "to"), [(0, "w.1s"), (1, "w.5s"), (2, "dlq")])
def test_names_that_the_policy_gives_are_published_to(failures: int, to: str) -> None:
    named = QueueRules("q", RetryPolicy.of("1s", "5s", park="dlq", tiers="w.{after}"))
    settlement = settle(named, ValueError("no"), failures)
    assert isinstance(settlement, Republish)
    assert settlement.message.routing_key == to
    assert settlement.message.properties.headers["x-mqkit-queue"] == "q"


def test_attempts_on_another_queue_count_nothing() -> None:
    settlement = settlement_of(RETRYING, delivery(2, queue="other"), ValueError(), AT)
    assert isinstance(settlement, Republish)
    assert settlement.message.routing_key == "q.retry.1s"


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_misfit_is_parked_with_the_reason_schema_and_its_true_error(failures: int) -> None:
    settlement = settle(RETRYING, BodyMisfit("number: missing"), failures)
    assert isinstance(settlement, Republish)
    assert settlement.to is Destination.PARKING_LOT
    headers = settlement.message.properties.headers
    assert headers["x-mqkit-parked-reason"] == "schema"
    assert headers["x-mqkit-error-type"] == "BodyMisfit"
    assert headers["x-mqkit-error-message"] == "number: missing"


def test_a_retry_that_is_too_long_is_parked_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    settlement = settle(RETRYING, RetryLater("1h"))
    assert isinstance(settlement, Republish)
    assert settlement.to is Destination.PARKING_LOT
    assert "the tiers are 1s, 5s" in caplog.text


def test_a_policy_that_drops_discards_what_others_would_park() -> None:
    rules = QueueRules("q", RetryPolicy.of("1s", then=Then.DROP))
    assert isinstance(settle(rules, ValueError(), 0), Republish)
    assert isinstance(settle(rules, ValueError(), 1), Discard)
    assert isinstance(settle(rules, Park("bad"), 0), Discard)
    assert isinstance(settle(rules, BodyMisfit("bad"), 0), Discard)


@pytest.mark.parametrize(
    ("rules", "raised", "expected"),
    [
        (PLAIN, Drop(), Discard),
        (PLAIN, Park("bad"), Requeue),
        (PLAIN, BodyMisfit("bad"), Requeue),
        (PLAIN, ValueError("bad"), Requeue),
        (PLAIN, RetryLater("1s"), Requeue),
        (LETTERING, Drop(), Discard),
        (LETTERING, Park("bad"), DeadLetter),
        (LETTERING, BodyMisfit("bad"), DeadLetter),
        (LETTERING, ValueError("bad"), Requeue),
        (LETTERING, RetryLater("1s"), Requeue),
    ],
)
def test_the_table_for_queues_without_a_policy(
    rules: QueueRules, raised: BaseException, expected: type
) -> None:
    assert isinstance(settle(rules, raised), expected)


def test_the_rules_are_what_the_topology_says() -> None:
    assert QueueRules.of("q", None) == PLAIN
    assert QueueRules.of("q", QueueModel("q")) == PLAIN
    assert QueueRules.of("q", QueueModel("q", retry=POLICY)) == RETRYING
    lettering = QueueModel("q", dead_letter=DeadLetterModel("dlx"))
    assert QueueRules.of("q", lettering) == LETTERING
    raw = QueueModel("q", arguments={"x-dead-letter-exchange": "dlx"})
    assert QueueRules.of("q", raw) == LETTERING


def test_a_queue_has_as_many_retries_as_its_policy() -> None:
    assert RETRYING.retries == 2
    assert PLAIN.retries is None


# -- rules by exception, jitter, giving up -----------------------------------------------------


def routing_key(settlement: Settlement) -> str:
    assert isinstance(settlement, Republish)
    return settlement.message.routing_key


def test_a_rule_of_the_policy_chooses_the_tier() -> None:
    rules = QueueRules("q", RetryPolicy.of("1s", "5s", errors={KeyError: ["3s"], OSError: "park"}))
    assert routing_key(settle(rules, KeyError())) == "q.retry.3s"
    assert routing_key(settle(rules, KeyError(), 1)) == "q.parked"
    assert routing_key(settle(rules, ValueError(), 1)) == "q.retry.5s"
    assert routing_key(settle(rules, TimeoutError())) == "q.parked"


def test_a_misfit_is_parked_whatever_the_rules_say() -> None:
    rules = QueueRules("q", RetryPolicy.of("1s", errors={"Exception": ["3s"]}))
    assert routing_key(settle(rules, BodyMisfit("number: missing"))) == "q.parked"


@pytest.mark.parametrize(("drawn", "tier"), [(0.0, "500ms"), (0.5, "1s"), (0.9, "1500ms")])
def test_the_rules_have_the_numbers_that_draw_for_jitter(drawn: float, tier: str) -> None:
    policy = RetryPolicy.growing("1s", times=1, jitter=0.5)
    rules = QueueRules("q", policy, rng=lambda: drawn)
    assert routing_key(settle(rules, ValueError())) == f"q.retry.{tier}"


@pytest.mark.parametrize(
    ("first_failed", "key"),
    [(AT - timedelta(seconds=5), "q.retry.5s"), (AT - timedelta(seconds=6), "q.parked"),
     (AT + timedelta(hours=1), "q.retry.5s")],
)  # fmt: skip
def test_giving_up_counts_from_the_first_failure_in_the_headers(
    first_failed: datetime, key: str
) -> None:
    rules = QueueRules("q", RetryPolicy.of("1s", "5s", give_up_after="10s"))
    once = delivery(1)
    headers = {**once.headers, "x-mqkit-first-failure": first_failed.isoformat()}
    failed = replace(once, properties=replace(once.properties, headers=headers))
    settlement = settlement_of(rules, failed, ValueError(), AT)
    assert routing_key(settlement) == key
    assert isinstance(settlement, Republish)
    reason = str(settlement.message.properties.headers.get("x-mqkit-parked-reason", ""))
    assert reason.startswith("given up after 10s") is (key == "q.parked")


def test_a_name_that_no_exception_of_a_handler_has_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors = {"KeyErorr": "park", "KeyError": "park", "BodyMisfit": "park", "Park": "drop"}
    warn_of_unknown_errors(QueueRules("q", RetryPolicy.of("1s", errors=errors)))
    told = [record.args[1] for record in caplog.records if isinstance(record.args, tuple)]
    assert told == ["KeyErorr", "BodyMisfit", "Park"]
    caplog.clear()
    warn_of_unknown_errors(RETRYING)
    warn_of_unknown_errors(PLAIN)
    assert caplog.records == []
