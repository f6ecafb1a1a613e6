"""The headers on a message that failed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.message import Delivery, Message, Properties
from mqkit.retry import headers as h
from mqkit.retry.headers import (
    Failure,
    failures_of,
    first_failure_of,
    to_parking_lot,
    to_replay,
    to_tier,
)

EARLY = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
LATE = datetime(2025, 1, 2, 3, 9, 5, tzinfo=UTC)


def delivery(exchange: str = "flights", key: str = "SFO.late", **properties: Any) -> Delivery:
    return Delivery(exchange, key, b"body", Properties(**properties), 1, redelivered=False)


def arrived(message: Message) -> Delivery:
    """The message as it is delivered after it waited in its tier."""
    return Delivery("", "delays", message.body, message.properties, 2, redelivered=False)


def failure(at: datetime = EARLY) -> Failure:
    return Failure.of(ValueError("no such airport"), at)


def test_the_first_failure_is_recorded_in_full() -> None:
    message = to_tier(delivery(headers={"mine": 1}), "delays", 1_000, failure())
    assert (message.exchange, message.routing_key) == ("", "delays.retry.1s")
    assert message.mandatory
    assert message.properties.headers == {
        "mine": 1,
        "x-mqkit-queue": "delays",
        "x-mqkit-attempt": 1,
        "x-mqkit-first-failure": "2025-01-02T03:04:05+00:00",
        "x-mqkit-last-failure": "2025-01-02T03:04:05+00:00",
        "x-mqkit-error-type": "ValueError",
        "x-mqkit-error-message": "no such airport",
        "x-mqkit-original-exchange": "flights",
        "x-mqkit-original-routing-key": "SFO.late",
    }


def test_the_time_of_the_first_failure_is_read_back_until_a_replay() -> None:
    once = arrived(to_tier(delivery(), "delays", 1_000, failure()))
    twice = arrived(to_tier(once, "delays", 5_000, failure(LATE)))
    assert first_failure_of(delivery().headers, "delays") is None
    assert first_failure_of(once.headers, "delays") == EARLY
    assert first_failure_of(twice.headers, "delays") == EARLY
    assert first_failure_of(twice.headers, "elsewhere") is None
    parked = arrived(to_parking_lot(twice, "delays", "enough", failure(LATE)))
    assert first_failure_of(to_replay(parked, "delays").properties.headers, "delays") is None


@pytest.mark.parametrize("time", ["", "yesterday", "2025-01-02T03:04:05", 5, None])
def test_a_time_that_mqkit_would_not_have_written_is_none(time: object) -> None:
    headers = {h.QUEUE: "delays", h.ATTEMPT: 1, h.FIRST_FAILURE: time}
    assert first_failure_of(headers, "delays") is None


def test_the_second_failure_counts_on_and_keeps_where_it_came_from() -> None:
    once = arrived(to_tier(delivery(), "delays", 1_000, failure()))
    twice = to_tier(once, "delays", 5_000, failure(LATE)).properties.headers
    assert twice[h.ATTEMPT] == 2
    assert twice[h.FIRST_FAILURE] == EARLY.isoformat()
    assert twice[h.LAST_FAILURE] == LATE.isoformat()
    assert twice[h.ORIGINAL_EXCHANGE] == "flights"
    assert twice[h.ORIGINAL_ROUTING_KEY] == "SFO.late"


def test_attempts_belong_to_one_queue() -> None:
    failed = arrived(to_tier(delivery(), "delays", 1_000, failure()))
    assert failures_of(failed.headers, "delays") == 1
    assert failures_of(failed.headers, "audit") == 0
    elsewhere = to_tier(replace(failed, routing_key="audit"), "audit", 1_000, failure(LATE))
    assert elsewhere.properties.headers[h.ATTEMPT] == 1
    assert elsewhere.properties.headers[h.ORIGINAL_ROUTING_KEY] == "audit"
    assert elsewhere.properties.headers[h.FIRST_FAILURE] == LATE.isoformat()


@pytest.mark.parametrize("count", [None, "3", True, -1, 2**70, 1.5, [1], {}])
def test_a_count_that_mqkit_would_not_write_is_none(count: Any) -> None:
    assert failures_of({h.QUEUE: "delays", h.ATTEMPT: count}, "delays") == 0


def test_body_and_properties_go_on_unchanged() -> None:
    properties = Properties(
        content_type="application/json",
        persistent=False,
        priority=3,
        correlation_id="c",
        reply_to="r",
        message_id="m",
        timestamp=EARLY,
        type="t",
        app_id="a",
    )
    before = Delivery("flights", "k", b"\x00body", properties, 1, redelivered=True)
    message = to_tier(before, "delays", 1_000, failure())
    assert message.body == before.body
    assert replace(message.properties, headers={}) == properties


def test_what_would_hurt_on_the_way_is_taken_off() -> None:
    deaths = dict.fromkeys(h.BROKER_DEATH_HEADERS, "x")
    before = delivery(
        headers={"CC": ["a"], "BCC": ["b"], **deaths}, expiration_ms=5, user_id="alice"
    )
    message = to_tier(before, "delays", 1_000, failure())
    assert message.properties.expiration_ms is None
    assert message.properties.user_id is None
    assert not {"CC", "BCC", *deaths} & set(message.properties.headers)
    assert message.properties.headers[h.ORIGINAL_CC] == ["a"]
    assert message.properties.headers[h.ORIGINAL_USER_ID] == "alice"


def test_parking_adds_the_reason_and_keeps_the_brokers_account() -> None:
    before = delivery(headers={"x-death": [{"reason": "maxlen"}]})
    message = to_parking_lot(before, "delays", "bad VAT id", failure(LATE))
    assert message.routing_key == "delays.parked"
    assert message.properties.headers[h.PARKED_REASON] == "bad VAT id"
    assert message.properties.headers[h.PARKED_AT] == LATE.isoformat()
    assert message.properties.headers["x-death"] == [{"reason": "maxlen"}]
    assert to_parking_lot(before, "delays", "", failure(), lot="other").routing_key == "other"


def test_a_replay_starts_afresh_and_is_counted() -> None:
    parked = arrived(to_parking_lot(delivery(headers={"mine": 1}), "delays", "bad", failure()))
    message = to_replay(parked, "delays")
    assert (message.exchange, message.routing_key) == ("", "delays")
    assert message.properties.headers == {
        "mine": 1,
        "x-mqkit-queue": "delays",
        "x-mqkit-original-exchange": "flights",
        "x-mqkit-original-routing-key": "SFO.late",
        "x-mqkit-replays": 1,
    }
    assert failures_of(message.properties.headers, "delays") == 0
    again = to_replay(arrived(message), "delays")
    assert again.properties.headers[h.REPLAYS] == 2


def test_a_replayed_message_that_fails_again_keeps_its_origin_and_its_count_of_replays() -> None:
    parked = arrived(to_parking_lot(delivery(), "delays", "bad", failure()))
    replayed = arrived(to_replay(parked, "delays"))
    failed = to_tier(replayed, "delays", 1_000, failure(LATE)).properties.headers
    assert failed[h.REPLAYS] == 1
    assert failed[h.ATTEMPT] == 1
    assert failed[h.FIRST_FAILURE] == LATE.isoformat()
    assert failed[h.ORIGINAL_EXCHANGE] == "flights"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


def test_an_error_that_can_not_be_shown_is_still_recorded() -> None:
    assert Failure.of(Mute(), EARLY) == Failure("Mute", "(this error can't be shown)", EARLY)


@given(st.text(alphabet=st.characters(codec=None)), st.text())
def test_whatever_the_error_says_the_headers_are_bounded_and_encodable(
    error: str, reason: str
) -> None:
    raised = ValueError(error * 300)
    message = to_parking_lot(delivery(), "q", reason * 300, Failure.of(raised, EARLY))
    for value in message.properties.headers.values():
        if isinstance(value, str):
            assert len(value.encode("utf-8")) <= h.MAX_TEXT_BYTES


def test_the_bound_on_error_text() -> None:
    fits, over = "x" * h.MAX_TEXT_BYTES, "x" * (h.MAX_TEXT_BYTES + 1)
    assert Failure.of(ValueError(fits), EARLY).error_message == fits
    cut = Failure.of(ValueError(over), EARLY).error_message
    assert len(cut) == h.MAX_TEXT_BYTES
    assert cut.endswith("...")
