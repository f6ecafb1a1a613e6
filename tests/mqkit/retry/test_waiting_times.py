"""Lists of waiting times."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import MAX_DURATION_MS
from mqkit.retry.waiting_times import MAX_WAITING_TIMES, checked, parsed, shown


def test_a_list_that_rises_or_stays_is_kept_as_it_is() -> None:
    assert checked((1, 1, 5)) == (1, 1, 5)
    assert parsed(["1s", "1m"]) == (1_000, 60_000)
    assert checked((1,) * MAX_WAITING_TIMES) == (1,) * MAX_WAITING_TIMES


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ((), "1 to 32 waiting times, this one 0"),
        ((1,) * 33, "this one 33"),
        ((0,), "at least 1ms"),
        ((1_000, 60_000, 5_000), "5s comes after 1m"),
        ((MAX_DURATION_MS + 1,), "49.7 days"),
    ],
)
def test_a_list_that_can_not_be_kept_is_refused(after: tuple[int, ...], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        checked(after)


def test_times_are_shown_as_people_write_them() -> None:
    assert shown((1_000, 90_000, 300_000)) == "1s, 90s, 5m"
