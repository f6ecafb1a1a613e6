"""Sums of what several nodes have counted: ``message_stats``, ``queue_totals`` and their
``*_details``, member by member."""

from __future__ import annotations

from typing import Any

from reference_broker.http.request.answer import Row


def added(first: Row, second: Row) -> Row:
    """The sums of two rows. A member that only one of them has is as it is there; samples of a
    history are added by their time."""
    sums = dict(first)
    for name, value in second.items():
        sums[name] = _sum(first[name], value) if name in first else value
    return sums


def _sum(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return added(first, second)
    if isinstance(first, list) and isinstance(second, list):
        return _samples(first, second)
    return first + second


def _samples(first: list[Row], second: list[Row]) -> list[Row]:
    """The samples of both, the newest first."""
    by_time: dict[int, float] = {}
    for each in (*first, *second):
        by_time[each["timestamp"]] = by_time.get(each["timestamp"], 0) + each["sample"]
    times = sorted(by_time, reverse=True)
    return [{"sample": by_time[at], "timestamp": at} for at in times]
