"""The law of going on: publishing and consuming are back soon after each fault.

Looked at are the confirms of each publisher and the deliveries of each queue, of which there are
several a second. From a silence of more than :data:`SILENCE_S` on, nothing goes on; the end of the
last one before the next fault is when the work is back.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from interop.chaos.checker.history import Fault, History
from interop.chaos.checker.verdict import Verdict
from interop.chaos.layout import HEARTBEAT_S
from interop.chaos.plan import HEARTBEAT_KINDS, Kind

GOES_ON = "work goes on after a fault"

LIMIT_S = 2.0
"""From the end of a fault."""
HEARTBEAT_LIMIT_S = 3.0 * HEARTBEAT_S
"""From its begin, where only a missing heartbeat tells of it."""
BROKER_LIMIT_S = HEARTBEAT_LIMIT_S + LIMIT_S
"""From its begin, where only the broker misses heartbeats: RabbitMQ closes the connection at its
third at the latest, and the app can go on after that."""
SILENCE_S = 1.0
"""Twenty times the mean time between two facts of one publisher or queue."""


@dataclass(slots=True)
class Recovery:
    """The longest times after faults of one kind."""

    times: int = 0
    publishing_s: float = 0.0
    consuming_s: float = 0.0


def goes_on(history: History) -> Verdict:
    """After each fault every publisher and every queue is back within the limit."""
    verdict = Verdict(GOES_ON)
    for fault, side, stream, took_s in _all(history):
        verdict.judged += 1
        if took_s > limit_s(fault.kind):
            verdict.offend(
                f"fault {fault.number} ({fault.kind}): {side} of {stream} was back after"
                f" {took_s:.2f} s",
                f'"fact":"fault","phase":"begin","number":{fault.number},',
            )
    return verdict


def recoveries(history: History) -> dict[str, Recovery]:
    """The longest times by kind of fault. Each is measured as :func:`goes_on` judges it."""
    table: dict[str, Recovery] = {}
    for fault in history.faults:
        table.setdefault(fault.kind, Recovery()).times += 1
    for fault, side, _, took_s in _all(history):
        recovery = table[fault.kind]
        if side == "publishing":
            recovery.publishing_s = max(recovery.publishing_s, took_s)
        else:
            recovery.consuming_s = max(recovery.consuming_s, took_s)
    return table


def limit_s(kind: str) -> float:
    """The time that the work may take after a fault of this kind."""
    if kind == Kind.STALL_TO_BROKER:
        return BROKER_LIMIT_S
    return HEARTBEAT_LIMIT_S if kind in HEARTBEAT_KINDS else LIMIT_S


def _all(history: History) -> Iterator[tuple[Fault, str, str, float]]:
    for place, fault in enumerate(history.faults):
        if fault.end is None:
            continue
        begin = fault.begin if fault.kind in HEARTBEAT_KINDS else fault.end
        end = _end_of_window(history, place)
        if end is None or end <= begin:
            continue
        for side, streams in (
            ("publishing", history.publishing),
            ("consuming", history.consuming),
        ):
            for stream, times in streams.items():
                yield fault, side, stream, _took_s(history, times, begin, end)


def _end_of_window(history: History, place: int) -> float | None:
    if place + 1 < len(history.faults):
        return history.faults[place + 1].begin
    return history.stopping


def _took_s(history: History, times: array[float], begin: float, end: float) -> float:
    """The seconds from ``begin`` to the end of the last silence before ``end``, or to the first
    sign of work where there was none; without those in which the app's process was starved."""
    signs = [*times[bisect_left(times, begin) : bisect_left(times, end)], end]
    back, before = signs[0], begin
    for t in signs:
        if t - before - history.starvation.within(before, t) > SILENCE_S:
            back = t
        before = t
    return back - begin - history.starvation.within(begin, back)
