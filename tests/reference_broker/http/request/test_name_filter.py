"""Which names are shown."""

from __future__ import annotations

import pytest

from reference_broker.http.request.answer import ApiError
from reference_broker.http.request.name_filter import PATTERN_BYTES_MAX, name_filter


@pytest.mark.parametrize(
    ("wanted", "is_pattern", "shown"),
    [
        ("CLASS", False, ["q.classic"]),
        ("q.c", False, ["q.classic"]),
        ("q.c", True, ["q.classic", "qxc"]),
        ("^QX", True, ["qxc"]),
        ("(a+)+$", True, []),
    ],
)
def test_names(wanted: str, is_pattern: bool, shown: list[str]) -> None:
    shows = name_filter(wanted, is_pattern=is_pattern)
    assert shows is not None
    assert [name for name in ("q.classic", "qxc", "b" * 255) if shows(name)] == shown


def test_no_name_shows_all() -> None:
    assert name_filter("", is_pattern=True) is None


@pytest.mark.parametrize(
    "pattern", ["(", "a{2000}", "(((a{100}){100}){100})", "x" * (PATTERN_BYTES_MAX + 1), "(?=a)"]
)
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(ApiError) as refused:
        name_filter(pattern, is_pattern=True)
    assert refused.value.status == 400
