"""The keys of messages."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.consumer.partitions.key import key_of
from mqkit.errors import ConfigurationError
from mqkit.message import Delivery, Properties


def delivery(body: bytes) -> Delivery:
    return Delivery("", "q", body, Properties(headers={"customer": "h"}), 1, False)


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (b'{"customer": "c", "n": 1}', "c"),
        (b'{"customer": 7}', 7),
        (b'{"customer": ["c"]}', None),
        (b'{"customer": null}', None),
        (b'{"n": 1}', None),
        (b'["customer"]', None),
        (b"no json", None),
    ],
)
def test_a_field_of_the_body(body: bytes, key: object) -> None:
    assert key_of("customer")(delivery(body)) == key


def test_a_function_of_the_delivery() -> None:
    assert key_of(lambda delivery: delivery.headers["customer"])(delivery(b"")) == "h"


@pytest.mark.parametrize("wrong", ["", 7, b"customer", ["customer"]])
def test_what_is_neither_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected the name of a field"):
        key_of(wrong)
