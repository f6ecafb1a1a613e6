"""The input of one end from a lane: messages, taken in their order and in portions. The credit of
one goes back when its last item is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions
from reference_broker.core.work.task import Steps
from reference_broker.errors import LinkError

TakeItem: TypeAlias = "Callable[[int, OctetReader], Steps | None]"
"""Takes the item of that kind that is next. The steps that it returns, if any, come first before
the next item. Raises :exc:`LinkError` for what can't be read."""


class LaneInput:
    """The messages of one lane that have come and are not done, which the other end's credit
    bounds. ``take`` gets their items."""

    __slots__ = (
        "_budget", "_is_closed", "_is_running", "_lane", "_link", "_take", "_waiting", "_work"
    )  # fmt: skip

    def __init__(
        self, link: Link, lane: Lane, take: TakeItem, work: Portions, budget: Budget
    ) -> None:
        self._link = link
        self._lane = lane
        self._take = take
        self._work = work
        self._budget = budget
        self._waiting: deque[tuple[int, memoryview]] = deque()
        self._is_running = self._is_closed = False

    def receive(self, kind: int, payload: memoryview) -> None:
        """Take a message: now, as far as the turn goes."""
        if self._is_closed:
            return
        self._waiting.append((kind, payload))
        if not self._is_running:
            self._is_running = True
            self._work.start(self._steps(), "", work_number(self._link))

    def close(self) -> None:
        """The link is down: take nothing more than the item that is under way. Idempotent."""
        self._is_closed = True
        self._waiting.clear()

    def _steps(self) -> Steps:
        while self._waiting:
            kind, payload = self._waiting[0]
            try:
                yield from self._items(kind, payload)
            except LinkError as error:
                self.close()
                self._link.end(str(error))
            if self._waiting:  # and the link is not down
                self._waiting.popleft()
                self._link.consumed(self._lane, kind, payload)
        self._is_running = False

    def _items(self, kind: int, payload: memoryview) -> Steps:
        reader, budget = OctetReader(payload), self._budget
        if reader.is_at_end:
            raise LinkError(f"a message of kind {kind} with nothing in it")
        while not reader.is_at_end:
            if budget.left <= 0:
                yield None
            if not self._waiting:
                return
            steps = self._take(kind, reader)
            if steps is not None:
                yield from steps


def work_number(link: Link) -> int:
    """The number of the peer among those whose work takes turns: connections have the positive
    ones."""
    return -link.peer.number
