"""The key of a delivery."""

from __future__ import annotations

import pytest

from mqkit.inbox.key import DIGEST, inbox_key
from mqkit.message import IDEMPOTENCY_KEY, Delivery, Properties


def delivery(message_id: str | None, key: object = None) -> Delivery:
    headers = {} if key is None else {IDEMPOTENCY_KEY: key}
    properties = Properties(message_id=message_id, headers=headers)
    return Delivery("", "orders", b"", properties, 1, False)


@pytest.mark.parametrize(
    ("message_id", "key", "expected"),
    [
        ("7", "work", "key:work"),
        ("7", None, "id:7"),
        ("7", 3, "id:7"),
        (None, "7", "key:7"),
        (None, None, None),
        ("", "", None),
    ],
)
def test_it_is_the_idempotency_key_or_else_the_message_id(
    message_id: str | None, key: object, expected: str | None
) -> None:
    assert inbox_key(delivery(message_id, key)) == expected


def test_what_no_database_keeps_in_a_text_is_a_digest() -> None:
    keys = [inbox_key(delivery(text)) for text in ("a\0b", "a\0c", "\udcff")]
    assert len(set(keys)) == 3
    assert all(key is not None and key.startswith(f"id:{DIGEST}") for key in keys)
