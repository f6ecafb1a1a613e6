"""binding: what makes two the same, and how management URLs name one."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.exchange.binding import Binding
from reference_broker.errors import ChannelException, ReplyCode


def test_the_order_of_arguments_does_not_count() -> None:
    one = Binding("x", "q", "k", {"a": 1, "b": "z"})
    other = Binding("x", "q", "k", {"b": "z", "a": 1}, number=5, durable=True)
    assert one.identity == other.identity
    assert one.properties_key == other.properties_key


@pytest.mark.parametrize(
    "other",
    [
        Binding("y", "q", "k"),
        Binding("x", "r", "k"),
        Binding("x", "q", "l"),
        Binding("x", "q", "k", {"a": 1}),
        Binding("x", "q", "k", destination_is_queue=False),
    ],
)
def test_everything_else_counts(other: Binding) -> None:
    assert Binding("x", "q", "k").identity != other.identity


def test_true_is_not_1() -> None:
    one, other = (Binding("x", "q", "k", {"a": value}) for value in (1, True))
    assert one.identity != other.identity


@pytest.mark.parametrize(
    ("key", "properties_key"),
    [
        ("", "~"),
        ("k", "k"),
        ("a.b c/d~é+%*#", "a.b+c%2Fd%7E%C3%A9%2B%25%2A%23"),
        ("x-_!'()", "x-_%21%27%28%29"),
    ],
)
def test_properties_key_without_arguments_is_rabbitmqs(key: str, properties_key: str) -> None:
    assert Binding("x", "q", key).properties_key == properties_key


def test_properties_key_with_arguments_ends_with_a_hash() -> None:
    plain = Binding("x", "q", "", {"a": 1}).properties_key
    assert plain.startswith("~")
    assert len(plain) == 7
    keyed = Binding("x", "q", "k", {"a": 1}).properties_key
    assert keyed == "k" + plain
    assert Binding("x", "q", "k", {"a": 2}).properties_key != keyed


@pytest.mark.parametrize(
    ("key", "arguments"), [("k", {"a": object()}), ("k", {"a": 2**70}), ("k" * 256, {})]
)
def test_what_the_wire_can_not_carry_is_refused(key: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ChannelException) as caught:
        Binding("x", "q", key, arguments)
    assert caught.value.code is ReplyCode.PRECONDITION_FAILED


def test_it_says_what_it_is() -> None:
    assert repr(Binding("x", "q", "k")) == "<Binding 'x' -> queue 'q' 'k'>"
