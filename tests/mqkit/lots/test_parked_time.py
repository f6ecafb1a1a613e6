"""The time since when a message lies in its lot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.lots.parked_time import SKEW_MAX, age_ms, parked_since, parked_time
from mqkit.retry.headers import PARKED_AT

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def death(time: object, count: int = 1) -> dict[str, Any]:
    return {"x-death": [{"time": time, "count": count}]}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({PARKED_AT: (NOW - HOUR).isoformat()}, NOW - HOUR),
        ({PARKED_AT: "2026-11-24T13:00:00+01:00"}, NOW),
        ({PARKED_AT: "2026-11-24T11:00:00"}, None),
        ({PARKED_AT: "yesterday"}, None),
        ({PARKED_AT: 5}, None),
        (death(NOW - HOUR), NOW - HOUR + timedelta(seconds=1)),
        (death((NOW - HOUR).replace(tzinfo=None)), NOW - HOUR + timedelta(seconds=1)),
        (death(NOW - HOUR, count=2), None),
        ({**death(NOW - HOUR), PARKED_AT: (NOW - 2 * HOUR).isoformat()}, NOW - HOUR),
        ({PARKED_AT: (NOW + SKEW_MAX + HOUR).isoformat()}, None),
    ],
)
def test_the_later_of_parking_and_death(headers: dict[str, Any], expected: datetime | None) -> None:
    found = parked_since(headers, NOW)
    if expected is not None and found is not None and "x-death" in headers:
        assert abs(found - expected) <= timedelta(seconds=1)
    else:
        assert found == expected


def test_ages() -> None:
    assert age_ms({PARKED_AT: (NOW - HOUR).isoformat()}, NOW) == 3_600_000
    assert age_ms({PARKED_AT: (NOW + timedelta(seconds=5)).isoformat()}, NOW) == 0
    assert age_ms({}, NOW) is None
    assert parked_time({PARKED_AT: (NOW + SKEW_MAX + HOUR).isoformat()}) is not None


@given(
    st.dictionaries(
        st.sampled_from([PARKED_AT, "x-death", "count"]),
        st.recursive(
            st.none() | st.text() | st.integers() | st.datetimes() | st.floats(),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["time", "a"]), inner),
        ),
    )
)
def test_headers_are_a_peers_and_nothing_is_raised(headers: dict[str, Any]) -> None:
    parked_since(headers, NOW)
    parked_time(headers)
