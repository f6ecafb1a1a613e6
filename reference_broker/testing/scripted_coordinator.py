"""A coordinator whose answers are the test's: every request is kept until it is answered.

etcd = ScriptedCoordinator()
proposals.propose(compares, changes, answer)
assert etcd.asked[0].transaction.changes == ...
etcd.answer(Won(7))
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from reference_broker.cluster.coordinator import (
    LeaseKeeper,
    LeaseListener,
    News,
    Outcome,
    Page,
    Transaction,
    Unread,
    Watch,
)


class Asked(NamedTuple):
    """A transaction that is to be answered."""

    transaction: Transaction
    answer: Callable[[Outcome], None]


class Read(NamedTuple):
    """A read that is to be answered."""

    prefix: str
    after: str
    revision: int
    answer: Callable[[Page | Unread], None]


class ScriptedWatch:
    """A watch. The test tells its news by ``tell``; ``is_closed`` says that nobody wants them."""

    def __init__(self, prefix: str, after: int, tell: Callable[[News], None]) -> None:
        self.prefix = prefix
        self.after = after
        self.tell = tell
        self.is_closed = False

    def close(self) -> None:
        """See :class:`~reference_broker.cluster.coordinator.Watch`."""
        self.is_closed = True


class ScriptedLease:
    """A lease. The test grants and ends it through ``listener``."""

    def __init__(self, ttl_s: int, listener: LeaseListener) -> None:
        self.ttl_s = ttl_s
        self.listener = listener
        self.is_released = False
        self.answered_at = 0.0

    def release(self) -> None:
        """See :class:`~reference_broker.cluster.coordinator.LeaseKeeper`."""
        self.is_released = True


class ScriptedCoordinator:
    """A :class:`~reference_broker.cluster.coordinator.Coordinator` that does nothing by itself."""

    def __init__(self) -> None:
        self.asked: deque[Asked] = deque()
        self.reads: deque[Read] = deque()
        self.watches: list[ScriptedWatch] = []
        self.leases: list[ScriptedLease] = []

    def propose(self, transaction: Transaction, answer: Callable[[Outcome], None]) -> None:
        """Keep the transaction for :meth:`answer`."""
        self.asked.append(Asked(transaction, answer))

    def answer(self, outcome: Outcome) -> Transaction:
        """Answer the oldest transaction, and return it."""
        transaction, answer = self.asked.popleft()
        answer(outcome)
        return transaction

    def read(
        self,
        prefix: str,
        answer: Callable[[Page | Unread], None],
        *,
        after: str = "",
        revision: int = 0,
    ) -> None:
        """Keep the read for :meth:`answer_read`."""
        self.reads.append(Read(prefix, after, revision, answer))

    def answer_read(self, page: Page | Unread) -> Read:
        """Answer the oldest read, and return it."""
        read = self.reads.popleft()
        read.answer(page)
        return read

    def watch(self, prefix: str, after: int, tell: Callable[[News], None]) -> Watch:
        """A new one, at the end of ``watches``."""
        watch = ScriptedWatch(prefix, after, tell)
        self.watches.append(watch)
        return watch

    def keep_lease(self, ttl_s: int, listener: LeaseListener) -> LeaseKeeper:
        """A new one, at the end of ``leases``."""
        lease = ScriptedLease(ttl_s, listener)
        self.leases.append(lease)
        return lease
