"""Values as JSON bodies."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from mqkit.json_body.encoder import encode_json


class Order(BaseModel):
    cents: float
    before: list[Order] = []
    note: str | None = None


class Measured(BaseModel, ser_json_inf_nan="null"):
    value: float


@pytest.mark.parametrize(
    ("value", "body"),
    [
        (Order(cents=1.5), b'{"cents":1.5,"before":[],"note":null}'),
        (Measured(value=float("inf")), b'{"value":null}'),
        ([1, "NaN"], b'[1,"NaN"]'),
        ({"a": None}, b'{"a":null}'),
    ],
)
def test_models_and_plain_values(value: Any, body: bytes) -> None:
    assert encode_json(value) == body


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        {"a": float("-inf")},
        Order(cents=float("nan")),
        Order(cents=1, before=[Order(cents=float("inf"))]),
    ],
)
def test_a_number_that_json_has_not_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="no JSON parser"):
        encode_json(value)


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(ValueError, match="object"):
        encode_json(object())
