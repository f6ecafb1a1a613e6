"""The promises of the sink for a stream whose driver was killed, judged by what was found. Pure.

A batch is one file of rows. Which partition Spark puts a row into is its own affair, so automatic
ids are held to be what they must be: of this query, one row each, the places of a partition without
a gap, and no row under two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interop.spark_sink.queues import Messages


@dataclass(frozen=True, slots=True)
class Streamed:
    """The remains of a query. ``bodies`` are those of all rows, by key; ``query_id`` is given where
    ids are automatic; ``reports`` are the lines of its report, in order."""

    bodies: Mapping[str, bytes]
    query_id: str | None
    plain: Messages
    window: Messages | None
    reports: Sequence[Mapping[str, Any]]
    kills: int

    @property
    def copies(self) -> int:
        """Messages in the plain queue more than rows."""
        return self.plain.total() - len(self.bodies)

    @property
    def repeated(self) -> int:
        """Batches that were reported more than once."""
        return len(self.reports) - len({line["batch_id"] for line in self.reports})


def faults(found: Streamed) -> list[str]:
    """Everything that breaks a promise; empty if all are kept."""
    said = list(_messages(found, found.plain))
    if found.window is not None:
        said += [f"behind the window: {fault}" for fault in _messages(found, found.window)]
        said += [
            f"behind the window: {name} is there {times} times"
            for (name, _), times in found.window.items()
            if times > 1
        ]
    said += [
        f"{name} is there {times} times, and the driver was killed {found.kills} times"
        for (name, _), times in found.plain.items()
        if times > 1 + found.kills
    ]
    return [*said, *_reports(found)]


def _messages(found: Streamed, messages: Messages) -> Iterator[str]:
    """Each row is there under its id, and nothing else is."""
    if found.query_id is None:
        yield from _keys(found.bodies, messages)
    else:
        yield from _automatic(found.bodies, found.query_id, messages)


def _keys(bodies: Mapping[str, bytes], messages: Messages) -> Iterator[str]:
    for name, body in bodies.items():
        if not messages[name, body]:
            yield f"{name} is missing"
    for name, body in messages:
        if bodies.get(name) != body:
            yield f"{name} with the body {body[:40]!r} is of no row"


def _automatic(bodies: Mapping[str, bytes], query_id: str, messages: Messages) -> Iterator[str]:
    name_of: dict[bytes, str] = {}
    body_of: dict[str, bytes] = {}
    places: defaultdict[str, set[int]] = defaultdict(set)
    for name, body in messages:
        if body_of.setdefault(name, body) != body:
            yield f"{name} has two bodies: {body_of[name][:40]!r} and {body[:40]!r}"
        if name_of.setdefault(body, name) != name:
            yield f"{body[:40]!r} has two ids: {name_of[body]} and {name}"
        partition, _, place = name.rpartition("/")
        if partition.partition("/")[0] != query_id or partition.count("/") != 2:
            yield f"{name} is not of query {query_id}"
        elif place.isdecimal():
            places[partition].add(int(place))
    rows = set(bodies.values())
    yield from (f"{body[:40]!r} is missing" for body in bodies.values() if body not in name_of)
    yield from (f"{body[:40]!r} is of no row" for body in name_of if body not in rows)
    for partition, found in places.items():
        if found != set(range(len(found))):
            yield f"{partition} has {len(found)} places, up to {max(found)}"


def _reports(found: Streamed) -> Iterator[str]:
    """Reports of one batch agree, and together they have the counts that the queues say."""
    by_batch: dict[int, Mapping[str, Any]] = {}
    for line in found.reports:
        first = by_batch.setdefault(line["batch_id"], line)
        for name in ("rows", "confirmed", "body_bytes"):
            if line[name] != first[name]:
                yield f"batch {line['batch_id']} has {name}={line[name]}, and {first[name]} before"
        for name in ("unroutable", "bad_rows"):
            if line[name]:
                yield f"batch {line['batch_id']} has {name}={line[name]}"
    if sorted(by_batch) != list(range(len(by_batch))):
        yield f"the reports are of the batches {sorted(by_batch)}"
    counts = {
        "rows": len(found.bodies),
        "confirmed": len(set(found.plain)) if found.window is None else found.window.total(),
        "body_bytes": sum(map(len, found.bodies.values())),
    }
    for name, count in counts.items():
        reported = sum(line[name] for line in by_batch.values())
        if reported != count:
            yield f"the reports have {name}={reported} in all, and it is {count}"
