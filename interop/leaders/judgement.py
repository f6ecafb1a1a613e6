"""The promises of ``lots:``, judged by the facts of a run. Pure.

A message that a killed leader had under way may be there twice from then on, so what holds for one
copy is asked for as many copies as its id was named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from interop.leaders.facts import Facts

FAULTS_SHOWN = 20


def faults(facts: Facts, every_s: float, at_most: int) -> list[str]:
    """Everything that breaks a promise; empty if all are kept."""
    return [*_early(facts, every_s), *_often(facts, at_most), *_unarchived(facts)]


def _early(facts: Facts, every_s: float) -> Iterator[str]:
    """No message goes back before its time."""
    parked: dict[tuple[str, int], float] = {}
    for parking in facts.parkings:
        key = (parking.message_id, parking.replays)
        parked[key] = min(parking.at_s, parked.get(key, parking.at_s))
    for arrival in facts.arrivals:
        if arrival.replays == 0:
            continue
        before = parked.get((arrival.message_id, arrival.replays - 1))
        if before is None:
            yield f"{arrival.message_id} came with {arrival.replays} replays from nowhere"
        elif arrival.at_s - before < every_s:
            yield (
                f"{arrival.message_id} went back after {arrival.at_s - before:.3f} s,"
                f" before its {every_s:g} s were over"
            )


def _often(facts: Facts, at_most: int) -> Iterator[str]:
    """No copy goes back more than ``at_most`` times, and there are no more copies than named."""
    seen = Counter((arrival.message_id, arrival.replays) for arrival in facts.arrivals)
    for (message_id, replays), times in seen.items():
        if replays > at_most:
            yield f"{message_id} went back {replays} times, and {at_most} are allowed"
        if times > 1 + facts.under_way[message_id]:
            yield (
                f"{message_id} came {times} times with {replays} replays, and was named by"
                f" {facts.under_way[message_id]} killed leaders"
            )


def _unarchived(facts: Facts) -> Iterator[str]:
    """Each is archived in the end."""
    for message_id in facts.published:
        times = facts.archived[message_id]
        if not times:
            yield f"{message_id} is not archived"
        elif times > 1 + facts.under_way[message_id]:
            yield f"{message_id} is archived {times} times"
    if facts.left:
        yield f"{facts.left} messages are left in the queue and the lot"
