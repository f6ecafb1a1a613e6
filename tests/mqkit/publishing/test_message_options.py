"""Properties as keyword arguments: what they become, and which values are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.message import IDEMPOTENCY_KEY, Message, Properties
from mqkit.publishing.message_options import MessageOptions, with_options
from mqkit.retry.duration import MAX_DURATION_MS

BARE = Message("x", "k", b"body", Properties(content_type="t", message_id="m", headers={"h": 1}))
MOMENT = datetime(2026, 1, 2, tzinfo=UTC)


def test_each_property_has_its_place_and_the_rest_stays() -> None:
    options: MessageOptions = {
        "priority": 9,
        "expiration": "5s",
        "correlation_id": "c",
        "reply_to": "r",
        "type": "t",
        "timestamp": MOMENT,
        "app_id": "a",
        "persistent": False,
        "mandatory": False,
        "idempotency_key": "i",
    }
    assert set(options) == MessageOptions.__optional_keys__
    assert with_options(BARE, **options) == Message(
        "x",
        "k",
        b"body",
        Properties(
            content_type="t",
            headers={"h": 1, IDEMPOTENCY_KEY: "i"},
            persistent=False,
            priority=9,
            correlation_id="c",
            reply_to="r",
            expiration_ms=5000,
            message_id="m",
            timestamp=MOMENT,
            type="t",
            app_id="a",
        ),
        mandatory=False,
    )
    assert BARE.properties.headers == {"h": 1}


def test_none_is_not_given() -> None:
    nothing: MessageOptions = {"priority": None, "expiration": None, "type": None}
    assert with_options(BARE, **nothing) == BARE


@pytest.mark.parametrize(
    "options",
    [
        {"priority": 0},
        {"priority": 255},
        {"expiration": 0},
        {"expiration": 1.001},
        {"expiration": timedelta(milliseconds=1)},
        {"expiration": MAX_DURATION_MS / 1000},
        {"timestamp": datetime(1970, 1, 1, tzinfo=UTC)},
        {"timestamp": datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-12)))},
        {"type": "\u00fc" * 127 + "x"},
        {"app_id": ""},
        {"correlation_id": "\udcff"},  # an octet that is no UTF-8, as it was received
    ],
)
def test_values_at_the_edge_are_taken(options: Any) -> None:
    assert with_options(BARE, **options) != BARE


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"priority": -1}, "priority=-1: expected a whole number, 0 to 255"),
        ({"priority": 256}, "priority=256"),
        ({"priority": True}, "priority=True"),
        ({"priority": 1.0}, "priority=1.0"),
        ({"priority": "high"}, "priority='high'"),
        ({"expiration": -1}, "expiration=-1: expected a finite time that is not negative"),
        ({"expiration": 0.0005}, "expiration=0.0005: expected whole milliseconds"),
        ({"expiration": timedelta(microseconds=1500)}, "whole milliseconds"),
        ({"expiration": 86_400 * 50}, "expiration=4320000: a broker's timers end at"),
        ({"expiration": b"5"}, "expiration=b'5': expected seconds"),
        ({"expiration": "soon"}, "'soon' is not a duration"),
        ({"timestamp": datetime(2026, 1, 2)}, "timestamp=.* without a time zone"),
        ({"timestamp": datetime(1969, 12, 31, tzinfo=UTC)}, "timestamp=.* from 1970 on"),
        ({"timestamp": 5}, "timestamp=5: expected a datetime"),
        ({"correlation_id": "x" * 256}, "correlation_id: AMQP has room for 255 .* has 256"),
        ({"reply_to": "\u00fc" * 128}, "reply_to: AMQP has room for 255 octets"),
        ({"type": 3}, "type=3: expected a text"),
        ({"app_id": "\ud800"}, "app_id=.*UTF-8 can't carry it"),
        ({"persistent": "no"}, "persistent='no': expected True or False"),
        ({"persistent": None}, "persistent=None"),
        ({"mandatory": 1}, "mandatory=1"),
        ({"idempotency_key": ""}, "idempotency_key=''"),
        ({"idempotency_key": 7}, "idempotency_key=7"),
        ({"idempotency_key": "x" * 256}, "idempotency_key: AMQP has room"),
    ],
)
def test_a_value_that_amqp_has_no_place_for_is_refused_by_name(options: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        with_options(BARE, **options)


def test_two_idempotency_keys_are_one_too_many() -> None:
    keyed = with_options(BARE, idempotency_key="one")
    with pytest.raises(ConfigurationError, match=f"'{IDEMPOTENCY_KEY}' already"):
        with_options(keyed, idempotency_key="two")


def test_a_long_value_is_not_shown_in_full() -> None:
    with pytest.raises(ConfigurationError) as refused:
        with_options(BARE, correlation_id="x" * 100_000)
    assert len(str(refused.value)) < 200


def test_an_option_that_there_is_not_is_a_mistake_in_the_program() -> None:
    wrong: Any = {"prority": 1}
    with pytest.raises(TypeError, match="prority"):
        with_options(BARE, **wrong)
