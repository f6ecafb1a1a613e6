"""A parked message as a person sees it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.message import Delivery, Properties
from mqkit.retry.headers import Failure, to_parking_lot
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.parked import SHOWN_BODY_BYTES, ParkedMessage, Selection

AT = datetime(2025, 1, 2, tzinfo=UTC)


def arrived(headers: dict[str, Any], message_id: str = "m1", body: bytes = b"body") -> Delivery:
    properties = Properties(headers=headers, message_id=message_id)
    return Delivery("", "delays.parked", body, properties, 1, redelivered=False)


def parked_by_mqkit() -> ParkedMessage:
    failed = Delivery("flights", "SFO", b"x", Properties(headers={"tenant": 7}), 1, False)
    failure = Failure.of(KeyError("tail"), AT)
    message = to_parking_lot(failed, "delays", "Still failing", failure)
    return ParkedMessage.of(arrived(dict(message.properties.headers)), "delays.parked")


def test_what_mqkit_parked_tells_its_whole_story() -> None:
    message = parked_by_mqkit()
    assert (message.queue, message.reason, message.attempts) == ("delays", "Still failing", 1)
    assert (message.error_type, message.error_message) == ("KeyError", "'tail'")
    assert (message.original_exchange, message.original_routing_key) == ("flights", "SFO")
    assert message.parked_at == AT.isoformat()


def test_what_the_broker_dead_lettered_is_told_from_its_x_death() -> None:
    death = {"queue": "delays", "reason": "maxlen", "routing-keys": ["SFO"], "count": 1}
    headers = {"x-death": [death], "x-first-death-exchange": "flights"}
    message = ParkedMessage.of(arrived(headers), "delays.parked")
    assert message.reason == "the queue was full"
    assert (message.original_exchange, message.original_routing_key) == ("flights", "SFO")


def test_a_lot_with_another_name_takes_the_queue_from_the_headers() -> None:
    assert ParkedMessage.of(arrived({"x-mqkit-queue": "email"}), "email-dlq").queue == "email"
    assert ParkedMessage.of(arrived({"x-first-death-queue": "old"}), "email-dlq").queue == "old"


def died(*queues: str) -> dict[str, Any]:
    return {"x-death": [{"queue": queue, "reason": "expired", "count": 1} for queue in queues]}


BY_MQKIT = {"x-mqkit-queue": "mail", "x-mqkit-parked-at": AT.isoformat()}
FORWARDED = {"x-mqkit-queue": "mail"}
SHARED = KnownLots({"dlq": None, "old": "mail"}, {"mail.wait.5s": "mail"})
SOLE = KnownLots({"dlq": "mail"})


@pytest.mark.parametrize(
    ("lot", "known", "headers", "queue"),
    [
        # The account that mqkit wrote counts most, then the newest death where work is done.
        ("dlq", SHARED, {**BY_MQKIT, **died("sms")}, "mail"),
        ("dlq", SHARED, died("sms", "mail"), "sms"),
        ("dlq", SHARED, died("mail.wait.5s", "sms"), "sms"),
        ("dlq", SHARED, died("mail.retry.1s", "sms"), "sms"),
        ("dlq", SHARED, died("old", "x.parked", "dlq", "sms"), "sms"),
        # A handler may copy headers to what it publishes: then the broker knows better.
        ("dlq", SHARED, {**FORWARDED, **died("sms")}, "sms"),
        ("dlq", SHARED, {**FORWARDED, **died("mail.wait.5s")}, "mail"),
        # Nobody knows; or the file does.
        ("dlq", SHARED, {}, ""),
        ("dlq", SHARED, died("mail.wait.5s"), ""),
        ("dlq", SHARED, {"x-first-death-queue": "mail.wait.5s"}, ""),
        ("dlq", SOLE, {}, "mail"),
        ("dlq", SOLE, died("sms"), "sms"),
        # A name of the form says whose the lot is, unless a file says otherwise.
        ("sms.parked", SHARED, {**BY_MQKIT, **died("fax")}, "sms"),
        ("sms.parked", KnownLots({"sms.parked": None}), {**BY_MQKIT, **died("fax")}, "mail"),
        ("sms.parked", KnownLots({"sms.parked": "sms"}), {**BY_MQKIT, **died("fax")}, "sms"),
    ],
)
def test_the_queue_that_a_message_goes_back_to(
    lot: str, known: KnownLots, headers: dict[str, Any], queue: str
) -> None:
    assert ParkedMessage.of(arrived(headers), lot, known).queue == queue


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["x-death", "x-mqkit-attempt", "x-mqkit-queue", "x-mqkit-parked-reason"])


@given(st.dictionaries(names | st.text(), json))
def test_no_header_of_a_peer_makes_it_raise(headers: dict[str, Any]) -> None:
    ParkedMessage.of(arrived(headers), "dlq").to_dict()


def test_only_the_beginning_of_a_body_is_shown() -> None:
    body = b"\xff" + b"x" * SHOWN_BODY_BYTES
    shown = ParkedMessage.of(arrived({}, body=body), "q.parked").to_dict()
    assert len(shown["body"]) == SHOWN_BODY_BYTES
    assert shown["body_bytes"] == len(body)


@pytest.mark.parametrize(
    ("selection", "matches"),
    [
        (Selection(), True),
        (Selection(message_ids=frozenset({"m1", "m2"})), True),
        (Selection(message_ids=frozenset({"m2"})), False),
        (Selection(reason="still"), True),
        (Selection(reason="VAT"), False),
        (Selection(error="keyerror: 'tail'"), True),
        (Selection(error="ValueError"), False),
        (Selection(headers={"tenant": "7"}), True),
        (Selection(headers={"tenant": "8"}), False),
        (Selection(headers={"region": "eu"}), False),
        (Selection(reason="still", headers={"tenant": "8"}), False),
    ],
)
def test_a_selection_asks_for_all_its_conditions(selection: Selection, matches: bool) -> None:
    assert selection.matches(parked_by_mqkit()) is matches
