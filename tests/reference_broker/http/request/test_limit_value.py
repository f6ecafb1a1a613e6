"""Limits in JSON: whole numbers under known names, refused in RabbitMQ's words."""

from __future__ import annotations

import pytest

from reference_broker.http.request.answer import ApiError
from reference_broker.http.request.limit_value import (
    LIMIT_MAX,
    limit_of,
    limits_of,
    validation_failed,
)

KNOWN = ("max-queues", "max-connections")


def test_limits_are_names_to_numbers() -> None:
    value = {"max-queues": 5, "max-connections": -1}
    assert limits_of(value, KNOWN, "limits") == value
    assert limits_of([], KNOWN, "limits") == {}


@pytest.mark.parametrize("value", [None, 5, "max-queues", ["max-queues"]])
def test_limits_that_are_no_object_are_refused(value: object) -> None:
    with pytest.raises(ApiError, match="not_json_object"):
        limits_of(value, KNOWN, "limits")


def test_an_unknown_limit_is_named() -> None:
    with pytest.raises(ApiError) as refused:
        limit_of("max-exchanges", 5, KNOWN, "limits")
    assert refused.value.reason == 'Unrecognised terms [{<<"max-exchanges">>,5}] in limits'


@pytest.mark.parametrize("value", [True, 1.5, "5", None, LIMIT_MAX + 1, -LIMIT_MAX - 1])
def test_a_limit_is_a_whole_number_that_a_field_table_can_hold(value: object) -> None:
    assert limit_of("max-queues", LIMIT_MAX, KNOWN, "limits") == LIMIT_MAX
    with pytest.raises(ApiError, match="max-queues should be a number, actually was"):
        limit_of("max-queues", value, KNOWN, "limits")


def test_a_parameter_is_refused_in_words_of_its_own() -> None:
    with pytest.raises(ApiError) as refused:
        limit_of("max-queues", "5", KNOWN, "limits")
    again = validation_failed(refused.value)
    assert again.reason == f"Validation failed\n\n{refused.value.reason}\n"
