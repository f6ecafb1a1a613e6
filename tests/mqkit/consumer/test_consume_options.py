"""The options of a consumer: made of what a program says, and refused where they make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.consumer.consume_options import ConsumeOptions, in_words
from mqkit.errors import ChannelError, ConfigurationError

IN_USE = "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use"


def test_nothing_said_is_nothing_sent() -> None:
    assert ConsumeOptions.of(10) == ConsumeOptions(10, exclusive=False, arguments={})


def test_the_priority_is_an_argument_beside_the_others() -> None:
    made = ConsumeOptions.of(5, priority=-3, exclusive=True, arguments={"x-weight": 2})
    assert made == ConsumeOptions(5, True, {"x-weight": 2, "x-priority": -3})
    assert ConsumeOptions.of(5, arguments={"x-priority": 7}).arguments == {"x-priority": 7}


def test_the_arguments_are_a_copy() -> None:
    given = {"x-weight": 2}
    made = ConsumeOptions.of(5, arguments=given)
    given["x-weight"] = 3
    assert made.arguments == {"x-weight": 2}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"priority": 1, "arguments": {"x-priority": 1}}, "given twice"),
        ({"priority": "high"}, "priority='high': expected a whole number"),
        ({"priority": True}, "priority=True"),
        ({"priority": 2**31}, "2147483647"),
        ({"arguments": {"x-priority": 1.5}}, r"priority=1\.5"),
        ({"arguments": {"x": object()}}, "argument 'x': a field table has no type"),
        ({"arguments": {"x": float("nan")}}, "argument 'x'"),
        ({"arguments": {"n" * 256: 1}}, "can't carry"),
        ({"arguments": {3: 1}}, "name that is not text"),
        ({"arguments": ["x-priority"]}, "by name"),
        ({"exclusive": "yes"}, "True or False"),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        ConsumeOptions.of(10, **options)


@pytest.mark.parametrize(
    ("exclusive", "words"),
    [
        (True, "q has a consumer already, and an exclusive one must be the only one"),
        (False, "another program consumes q exclusively"),
    ],
)
def test_a_queue_in_exclusive_use_is_said_in_words(exclusive: bool, words: str) -> None:
    told = in_words(ChannelError(403, IN_USE, 60, 20), "q", exclusive=exclusive)
    assert told.reply_text == f"{IN_USE}: {words}"
    assert (told.reply_code, told.class_id, told.method_id) == (403, 60, 20)


@pytest.mark.parametrize("error", [ChannelError(404, "gone"), ChannelError(403, "no permission")])
def test_any_other_refusal_stays_as_it_is(error: ChannelError) -> None:
    assert in_words(error, "q", exclusive=True) is error
