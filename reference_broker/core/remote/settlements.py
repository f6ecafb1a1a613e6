"""Settlements of leases that another node's queue has given: kept in their order, and sent
together at the end of the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from reference_broker.core.remote.ports import Settlement

if TYPE_CHECKING:
    from reference_broker.core.index.entry_rows import EntryRun
    from reference_broker.core.index.index import QueueIndex
    from reference_broker.core.journal.journal import Entry
    from reference_broker.core.message.content import Content
    from reference_broker.core.remote.ports import Home


class Settlements:
    """The settlements of one queue that were not sent. ``begun`` is called with the first one:
    :meth:`send` has to follow before the input ends."""

    __slots__ = ("_begun", "_runs")

    def __init__(self, begun: Callable[[], None]) -> None:
        self._begun = begun
        self._runs: list[tuple[Settlement, list[int]]] = []

    def add(self, how: Settlement, numbers: Sequence[int]) -> None:
        """Leases of these numbers end."""
        runs = self._runs
        if not runs:
            self._begun()
        if runs and runs[-1][0] is how:
            runs[-1][1].extend(numbers)
        else:
            runs.append((how, list(numbers)))

    def send(self, home: Home, queue_id: int) -> None:
        """Send them."""
        if not self._runs:
            return
        runs, self._runs = self._runs, []
        for how, numbers in runs:
            home.end_leases(queue_id, how, numbers)

    def forget(self) -> None:
        """The leases have become stale."""
        self._runs = []


class RemoteExits:
    """The exits of a queue that is elsewhere (:class:`~reference_broker.core.index.exits.Exits`): a
    sequence is the number of a lease, which is acked. No message is in an index here, and none is
    ended as a row of one."""

    __slots__ = ("_settlements",)

    def __init__(self, settlements: Settlements) -> None:
        self._settlements = settlements

    def end(self, index: QueueIndex, sequence: int, content: Content) -> None:
        self._settlements.add(Settlement.ACK, (sequence,))

    def end_run(self, index: QueueIndex, first: int, contents: Sequence[Content]) -> int:
        count = len(contents)
        self._settlements.add(Settlement.ACK, range(first, first + count))
        return count

    def end_absent(self, index: QueueIndex, sequence: int, position: int, stored: int) -> None:
        raise AssertionError("no message of the queue is here")

    def lose(self, index: QueueIndex, sequence: int, position: int, stored: int) -> None:
        raise AssertionError("no message of the queue is here")

    def end_ready(self, index: QueueIndex, run: EntryRun) -> None:
        raise AssertionError("no message of the queue is here")

    def end_taken(self, index: QueueIndex, run: EntryRun) -> None:
        raise AssertionError("no message of the queue is here")

    def move(
        self, sequence: int, content: Content, entries: Sequence[Entry], moved: Content
    ) -> bool:
        return False

    def end_moved(self, index: QueueIndex, sequence: int) -> None:
        raise AssertionError("no message of the queue is here")
