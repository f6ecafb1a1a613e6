"""The origin of a dead letter."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.vhost.reprocess import Origin, origin_of


def header(headers: dict[str, Any] | None) -> bytes:
    return encode_header(0, Properties(headers=headers))


def death(queue: str, **more: Any) -> dict[str, Any]:
    return {"queue": queue, "reason": "expired", "exchange": "x", "routing-keys": ["k"], **more}


def test_a_table_that_can_not_be_read() -> None:
    whole = header({"x-death": [death("a")]})
    assert origin_of(whole[:-4] + b"\xff\xff\xff\xff") is None


@pytest.mark.parametrize(
    ("headers", "origin"),
    [
        (None, None),
        ({"a": 1}, None),
        ({"x-death": "forged"}, None),
        ({"x-death": [1]}, None),
        ({"x-death": [death("b"), death("a")]}, Origin("a", "x", "k")),
        ({"x-death": [death("b"), death("a")], "x-first-death-queue": "b"}, Origin("b", "x", "k")),
        ({"x-death": [{"queue": 5, "routing-keys": []}]}, Origin("", "", "")),
    ],
)
def test_the_first_death(headers: dict[str, Any] | None, origin: Origin | None) -> None:
    assert origin_of(header(headers)) == origin
