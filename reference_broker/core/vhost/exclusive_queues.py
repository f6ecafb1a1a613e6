"""The exclusive queues of a virtual host, by the connection that owns them.

They go with their connection, in portions where they are many. From the end of the connection on
nobody has anything to do with them: whoever names one waits until it is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reference_broker.core.queue.rest import is_kept_busy, settle_down
from reference_broker.core.work.budget import DECLARATION_UNITS, Budget
from reference_broker.core.work.task import tell_each
from reference_broker.core.work.until import NotYet, Until

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps


class ExclusiveQueues:
    """Owners, each with its queues in order of declaration."""

    __slots__ = ("_budget", "_ended", "_owned")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._owned: dict[object, dict[str, Queue]] = {}
        self._ended: dict[object, Until] = {}
        """Owners that have ended, and have queues that are still to go."""

    def __len__(self) -> int:
        """The number of owners."""
        return len(self._owned)

    def add(self, queue: Queue) -> None:
        """``queue`` was declared. Does nothing for one that is not exclusive."""
        if queue.owner is not None:
            self._owned.setdefault(queue.owner, {})[queue.name] = queue

    def remove(self, queue: Queue) -> None:
        """``queue`` is gone. Does nothing for one that is not exclusive."""
        if queue.owner is None:
            return
        owned = self._owned[queue.owner]
        del owned[queue.name]
        if not owned:
            del self._owned[queue.owner]

    def release(self, owner: object, delete: Callable[[Queue], Steps]) -> Steps:
        """``owner`` has ended: its queues are nobody's from now on. Returns the steps of deleting
        them, for each of which ``delete`` has more. A connection may end twice: it is closed by the
        broker, and then its socket is gone. Take the steps of the
        last call; who waits since the first one is told as well."""
        if owner in self._owned:
            self._ended.setdefault(owner, Until())
        return self._delete_all(owner, delete)

    def _delete_all(self, owner: object, delete: Callable[[Queue], Steps]) -> Steps:
        while owned := self._owned.get(owner):
            queue = next(iter(owned.values()))
            if not (settle_down(queue) or is_kept_busy(queue)):  # what is overdue is dead before
                yield None
                continue
            self._budget.left -= DECLARATION_UNITS
            yield from delete(queue)
            if self._budget.left <= 0:
                yield None
        until = self._ended.pop(owner, None)
        if until is not None:
            yield from tell_each(until, self._budget)

    def require_unended(self, queue: Queue) -> None:
        """Raises :exc:`NotYet` for a queue whose owner has ended."""
        until = self._ended.get(queue.owner)
        if until is not None:
            raise NotYet(until)
