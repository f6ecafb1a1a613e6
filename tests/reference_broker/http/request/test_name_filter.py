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
    found = name_filter(wanted, is_pattern=is_pattern)
    assert found is not None
    assert [name for name in ("q.classic", "qxc", "b" * 255) if found.shows(name)] == shown


def test_a_name_counts_for_what_the_pattern_may_cost() -> None:
    """RE2 is linear in the name, but by the size of the pattern: 12 ms for one of 255 octets."""
    costs = []
    for text, is_pattern in (("a", False), ("a", True), ("(a|b)*a(a|b){300}x", True)):
        found = name_filter(text, is_pattern=is_pattern)
        assert found is not None
        costs.append([found.cost("a" * length) for length in (1, 20, 255)])
    plain, small, large = costs
    assert plain == [1, 1, 1]
    assert small[0] == 1 < small[2] < 20
    assert large[1] > 100 < 1_000 < large[2] < 4_000


def test_no_name_shows_all() -> None:
    assert name_filter("", is_pattern=True) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a{2000}",
        "(((a{100}){100}){100})",
        "x" * (PATTERN_BYTES_MAX + 1),
        "(?=a)",
        "(((a|b){0,30}){0,30})x",
    ],
)
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(ApiError) as refused:
        name_filter(pattern, is_pattern=True)
    assert refused.value.status == 400
