"""The event history: the last transactions that the feed was told, for nodes which are behind it.

It is a ring: the oldest transaction goes when there are too many, or too many octets of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from reference_broker.cluster.coordinator import Changed, Event
from reference_broker.core.base.limits import MIB

TRANSACTIONS_MAX = 10_000
"""Transactions that are kept. Those of a cluster in which a thousand are made each second are ten
seconds of it, and a node whose etcd is gone asks within one."""

BYTES_MAX = 8 * MIB
"""Octets that are kept, by :func:`cost`."""

EVENT_OVERHEAD_BYTES = 256
"""Accounted for each event beside its key and value: the objects that it is made of."""


def cost(events: Sequence[Event]) -> int:
    """Octets that events take."""
    return sum(EVENT_OVERHEAD_BYTES + len(key) + len(value or b"") for key, value, *_ in events)


class Portion(NamedTuple):
    """Transactions in their order, and the revision up to which nothing else has changed. ``more``:
    it goes on after that revision."""

    transactions: tuple[Changed, ...]
    reached: int
    more: bool


class EventHistory:
    """It knows everything after the revision ``known_after``, up to ``reached``. Keys are without
    the cluster's prefix."""

    def __init__(
        self, transactions_max: int = TRANSACTIONS_MAX, bytes_max: int = BYTES_MAX
    ) -> None:
        self.known_after = 0
        self.reached = 0
        self._transactions_max = transactions_max
        self._bytes_max = bytes_max
        self._transactions: deque[Changed] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """The number of transactions."""
        return len(self._transactions)

    def begin(self, revision: int) -> None:
        """Forget everything: all was read anew, as it was at ``revision``."""
        self._transactions.clear()
        self._bytes = 0
        self.known_after = self.reached = revision

    def add(self, revision: int, events: tuple[Event, ...]) -> None:
        """Everything that has changed after ``reached``, up to ``revision``: one transaction, or
        none."""
        self.reached = revision
        if not events:
            return
        self._transactions.append(Changed(revision, events))
        self._bytes += cost(events)
        while self._bytes > self._bytes_max or len(self._transactions) > self._transactions_max:
            oldest = self._transactions.popleft()
            self._bytes -= cost(oldest.events)
            self.known_after = oldest.revision

    def after(self, revision: int, bytes_max: int) -> Portion | None:
        """Everything after ``revision``, up to the transaction that goes beyond ``bytes_max``;
        ``None`` where it is not known any more, or not yet."""
        if not self.known_after <= revision <= self.reached:
            return None
        start = bisect_right(self._transactions, revision, key=attrgetter("revision"))
        taken: list[Changed] = []
        size = 0
        for transaction in islice(self._transactions, start, None):
            taken.append(transaction)
            size += cost(transaction.events)
            if size >= bytes_max:
                break
        if start + len(taken) < len(self._transactions):
            return Portion(tuple(taken), taken[-1].revision, more=True)
        return Portion(tuple(taken), self.reached, more=False)
