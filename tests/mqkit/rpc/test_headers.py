"""The deadline of a question."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.rpc.headers import DEADLINE, deadline_ms, is_late


@pytest.mark.parametrize(
    ("headers", "late"),
    [
        ({}, False),
        ({DEADLINE: 1001}, False),
        ({DEADLINE: 1000}, True),
        ({DEADLINE: 0}, True),
        ({DEADLINE: "0"}, False),
        ({DEADLINE: True}, False),
        ({DEADLINE: None}, False),
    ],
)
def test_a_question_is_late_at_its_deadline_if_it_has_one(
    headers: dict[str, Any], late: bool
) -> None:
    assert is_late(headers, 1000) is late


def test_what_mqkit_has_not_written_is_no_deadline() -> None:
    assert deadline_ms({DEADLINE: 7}) == 7
    assert deadline_ms({DEADLINE: 7.5}) is None
