"""One field of a JSON body."""

from __future__ import annotations

import pytest

from mqkit.json_body.field import field_of


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"kind": "paid"}', "paid"),
        (b'{"kind": {"a": 1}}', {"a": 1}),
        (b'{"other": 1}', None),
        (b'["kind"]', None),
        (b"no json", None),
        (b"", None),
        (b"\xff", None),
    ],
)
def test_what_is_not_there_is_none(body: bytes, value: object) -> None:
    assert field_of(body, "kind") == value
