"""A queue for one process: what is declared of it, and what can't be."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit import ConfigurationError, Temporary
from mqkit.declaration import Binding, Queue


def test_it_is_named_by_the_broker_and_belongs_to_its_connection() -> None:
    temporary = Temporary([("events", "cache.*")], arguments={"x-max-length": 10})
    assert temporary.queue == Queue(
        "", durable=False, exclusive=True, arguments={"x-max-length": 10}
    )
    assert repr(temporary) == "Temporary('events': 'cache.*')"


def test_it_is_bound_to_each_exchange() -> None:
    temporary = Temporary([("events", "cache.*"), ("users", "", {"x-match": "all", "kind": "a"})])
    assert temporary.bindings == (
        Binding("events", temporary.name, "cache.*"),
        Binding("users", temporary.name, "", arguments={"x-match": "all", "kind": "a"}),
    )


def test_each_is_a_queue_of_its_own() -> None:
    one, two = (Temporary([("events", "cache.*")]) for _ in range(2))
    assert one.name != two.name
    assert one != two


@pytest.mark.parametrize(
    ("bind", "words"),
    [
        ([], "at least one pair"),
        ("events", "at least one pair"),
        (None, "at least one pair"),
        (("events", "cache.*"), "an exchange and a binding key"),
        ([("events",)], "an exchange and a binding key"),
        ([("events", "k", {}, 1)], "an exchange and a binding key"),
        ([("", "k")], "default exchange"),
        ([(3, "k")], "an exchange is text, not 3"),
        ([("events", None)], "a binding key is text"),
        ([("events", "k" * 256)], "at most 255 octets"),
        ([("events", "ü" * 128)], "at most 255 octets"),
        ([("events", "k", ["x-match"])], "expected values by name"),
        ([("events", "k", {"a": object()})], "AMQP can't carry the arguments of a binding"),
    ],
)
def test_a_binding_that_cant_be_made_is_refused(bind: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Temporary(bind)


@pytest.mark.parametrize("arguments", [{"x": object()}, {3: 1}, "x-expires"])
def test_arguments_that_amqp_cant_carry_are_refused(arguments: Any) -> None:
    with pytest.raises(ConfigurationError, match="arguments"):
        Temporary([("events", "k")], arguments=arguments)
