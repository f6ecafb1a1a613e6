"""Made from a draft, a value is what the dataclass itself would have made, and as frozen."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from mqkit.consumer.settlement import QueueRules
from mqkit.drafts import new_confirmed, new_delivery, new_message, new_outgoing, new_properties
from mqkit.message import Delivery, Message, Properties, count_attempts_by
from mqkit.outcome import Confirmed
from mqkit.retry import RetryPolicy

EVERYTHING: dict[str, Any] = {
    "content_type": "text/plain",
    "content_encoding": "gzip",
    "headers": {"x": 1},
    "persistent": False,
    "priority": 5,
    "correlation_id": "c",
    "reply_to": "r",
    "expiration_ms": 1000,
    "message_id": "m",
    "timestamp": datetime(2026, 1, 2, tzinfo=UTC),
    "type": "t",
    "user_id": "u",
    "app_id": "a",
}
PROPERTIES = Properties(**EVERYTHING)

MADE = [
    (new_properties, Properties, tuple(EVERYTHING.values())),
    (new_message, Message, ("x", "k", b"body", PROPERTIES, False)),
    (new_delivery, Delivery, ("x", "k", b"body", PROPERTIES, 7, True, "tag")),
]


@pytest.mark.parametrize(("make", "kind", "values"), MADE)
def test_it_is_what_the_dataclass_makes(make: Any, kind: Any, values: tuple[Any, ...]) -> None:
    made = make(*values)
    names = [field.name for field in fields(kind)]
    assert made == kind(**dict(zip(names, values, strict=True)))
    assert type(made) is kind
    assert repr(made).startswith(f"{kind.__name__}({names[0]}=")
    with pytest.raises(FrozenInstanceError):
        setattr(made, names[0], "other")
    assert getattr(replace(made, **{names[0]: "other"}), names[0]) == "other"


def test_an_outgoing_message_is_what_the_dataclasses_make() -> None:
    made = new_outgoing("x", "k", b"body", "text/plain", {"x": 1}, "m")
    properties = Properties(content_type="text/plain", headers={"x": 1}, message_id="m")
    assert made == Message("x", "k", b"body", properties)
    assert repr(made) == repr(Message("x", "k", b"body", properties))
    for value, name in ((made, "body"), (made.properties, "message_id")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, "other")
    assert replace(made, body=b"other").properties == properties


def test_confirmations_are_what_the_dataclass_makes() -> None:
    properties = Properties(message_id="a")
    made = new_confirmed([Message("x", "k", b"", properties), Message("x", "k", b"")])
    assert made == [Confirmed("a"), Confirmed()]
    assert all(made)
    with pytest.raises(FrozenInstanceError):
        setattr(made[0], "message_id", "other")  # noqa: B010 - mypy knows that it is frozen


def test_a_delivery_counts_its_attempts_by_the_rules_that_it_is_given() -> None:
    made = new_delivery("x", "k", b"", Properties(), 1, False, "tag")
    assert (made.attempt, made.attempts_left) == (1, None)
    count_attempts_by(QueueRules("q", RetryPolicy.of("1s")), made)
    assert (made.attempt, made.attempts_left) == (1, 1)
