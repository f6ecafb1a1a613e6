"""Counts of the requests to etcd, by kind: ``txn``, ``range``, ``watch``, ``grant``, ``keepalive``
and ``revoke``, which are the ends of their paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class RequestCount(NamedTuple):
    """The requests of one kind that have ended, those among them that had no answer of use, and
    the seconds that all of them took."""

    ended: int = 0
    failed: int = 0
    seconds: float = 0.0

    def plus(self, other: RequestCount) -> RequestCount:
        """Both together."""
        return RequestCount(
            self.ended + other.ended, self.failed + other.failed, self.seconds + other.seconds
        )


class RequestCounts:
    """The counts of one client. Its thread adds to them, and any thread may read ``by_kind``, which
    has the kinds that there were."""

    def __init__(self) -> None:
        self.by_kind: Mapping[str, RequestCount] = {}

    def add(self, path: str, seconds: float, *, failed: bool) -> None:
        """A request to ``path`` has ended after so many seconds, at however many members."""
        kind = path.rpartition("/")[2]
        count = self.by_kind.get(kind, RequestCount()).plus(RequestCount(1, failed, seconds))
        # Another one for each request: who reads the earlier one on another thread goes on.
        self.by_kind = {**self.by_kind, kind: count}


def sum_of(counts: Iterable[RequestCounts]) -> dict[str, RequestCount]:
    """The counts of several clients together, by kind."""
    whole: dict[str, RequestCount] = {}
    for each in counts:
        for kind, count in each.by_kind.items():
            whole[kind] = whole.get(kind, RequestCount()).plus(count)
    return whole
