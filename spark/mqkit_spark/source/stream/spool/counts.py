"""The counts of what was read: per partition, added up for batches and for the spool folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Counts:
    """``dropped`` are messages that came again and were known; ``without_id`` rows can't be known,
    so they are there again if they come again. ``lost_connections`` of one partition are those of
    the attempt that won."""

    rows: int = 0
    dropped: int = 0
    without_id: int = 0
    body_bytes: int = 0
    lost_connections: int = 0

    def to_json(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Counts:
        """The reverse of :meth:`to_json`; a count that is not there is 0."""
        return cls(**{each.name: int(given.get(each.name, 0)) for each in fields(cls)})

    def __str__(self) -> str:
        return (
            f"{self.rows} rows of {self.body_bytes} bytes, {self.dropped} dropped as known,"
            f" {self.without_id} without an id, {self.lost_connections} lost connections"
        )


def total(counts: Iterable[Counts]) -> Counts:
    """The sum."""
    sums = dict.fromkeys((each.name for each in fields(Counts)), 0)
    for one in counts:
        for name, value in one.to_json().items():
            sums[name] += value
    return Counts(**sums)


def text_of(counts: Counts) -> bytes:
    """A file's content."""
    return json.dumps(counts.to_json()).encode()
