"""Values as JSON bodies."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from mqkit.json_body.encoder import encode_json


class Order(BaseModel):
    cents: float


@pytest.mark.parametrize(
    ("value", "body"),
    [
        (Order(cents=1.5), b'{"cents":1.5}'),
        ([1, "NaN"], b'[1,"NaN"]'),
        ({"a": None}, b'{"a":null}'),
    ],
)
def test_models_and_plain_values(value: Any, body: bytes) -> None:
    assert encode_json(value) == body


@pytest.mark.parametrize("value", [float("nan"), {"a": float("-inf")}])
def test_a_number_that_json_has_not_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="no JSON parser"):
        encode_json(value)


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(ValueError, match="object"):
        encode_json(object())
