"""The queues of a virtual host that were touched, and are dispatched before the input ends, or in a
later turn where the budget is spent before that.

Two lists. Dirty queues wait in the order in which they were touched. Before them goes what a dead
letter has pushed into more than a queue holds, or for which its time is over already (``urgent``):
the last one first, so that a letter's way is followed to its end before the next letter sets out. A
fork of dead-letter exchanges then holds one message a level, where it would hold all of the last
level otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from reference_broker.core.queue.rest import came_to_rest, is_kept_busy, tell_who_waits
from reference_broker.core.work.budget import Budget

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue


class Urgent(Protocol):
    """A queue that has to lose messages, or a dead letter on its way to many queues."""

    def dispatch(self) -> bool:
        """Go on; true when there is nothing to go on with."""
        ...


class LettersEnd:
    """A place among what is urgent. When it has had its turn, all has been followed to its end that
    became urgent after it; what was urgent before may go on for long, and waits."""

    __slots__ = ()

    def dispatch(self) -> bool:
        """True: there is nothing to do."""
        return True


class DirtyQueues:
    """The dirty queues of one virtual host: a :class:`~reference_broker.core.work.portions.Job`
    when some are left over from a turn. A queue knows by its ``dirty`` that it is here, so that
    marking it once more costs nothing. ``touched`` has those of all virtual hosts of a broker that
    are not empty and not left over."""

    __slots__ = (
        "_budget",
        "_is_odd",
        "_known",
        "_queues",
        "_touched",
        "_urgent",
        "connection_id",
        "vhost_name",
    )

    def __init__(
        self,
        budget: Budget | None = None,
        touched: list[DirtyQueues] | None = None,
        vhost_name: str = "",
    ) -> None:
        self._budget = budget or Budget()
        self._touched = [] if touched is None else touched
        self._queues: deque[Queue] = deque()
        self._urgent: dict[Urgent, None] = {}
        self._known = self._is_odd = False
        self.vhost_name = vhost_name
        self.connection_id = 0

    def __bool__(self) -> bool:
        return bool(self._queues) or bool(self._urgent)

    def __iter__(self) -> Iterator[Queue]:
        """The dirty queues, in the order of their dispatch; what is urgent is not among them."""
        return iter(self._queues)

    def mark(self, queue: Queue) -> None:
        """``queue`` will be dispatched."""
        if not queue.dirty:
            queue.dirty = True
            self._queues.append(queue)
            if not self._known:
                self._touch()

    def mark_in_turn(self, queues: list[Queue]) -> None:
        """Mark ``queues``, and have them dispatched in this order, behind all others that are
        dirty: the messages that they will share out among them may be fewer than the first one
        could use."""
        if any(queue.dirty for queue in queues):
            moved = set(queues)
            # In place: this may be a dispatch's doing, and whoever dispatches walks this deque.
            others = [queue for queue in self._queues if queue not in moved]
            self._queues.clear()
            self._queues.extend(others)
        for queue in dict.fromkeys(queues):
            queue.dirty = True
            self._queues.append(queue)
        if queues and not self._known:
            self._touch()

    def mark_urgent(self, urgent: Urgent) -> None:
        """``urgent`` goes on before everything that is here."""
        self._urgent.pop(urgent, None)
        self._urgent[urgent] = None
        if not self._known:
            self._touch()

    def is_overtaken(self, queue: Queue) -> bool:
        """True when something urgent has to go on before ``queue`` does."""
        return bool(self._urgent) and next(reversed(self._urgent)) is not queue

    def _touch(self) -> None:
        self._known = True
        self._touched.append(self)

    def follow_letters(self, end: Urgent | None = None) -> bool:
        """Go on with what is urgent, until nothing is or ``end`` has had its turn; false when the
        budget is spent before that."""
        budget, urgent = self._budget, self._urgent
        while urgent and budget.left > 0 and (end is None or end in urgent):
            first = next(reversed(urgent))
            if first.dispatch():
                urgent.pop(first, None)
            budget.left -= 1
        return budget.left > 0 and (not urgent or (end is not None and end not in urgent))

    def advance(self) -> bool:
        """Dispatch the marked queues, and those that this marks, until the budget is spent. True
        when none is left. Letters that go on and on leave half of it to the queues."""
        budget, queues = self._budget, self._queues
        self._is_odd = not self._is_odd
        kept = (budget.left + self._is_odd) // 2
        budget.left -= kept
        while self.follow_letters() and queues:
            self._dispatch_first()
            budget.left -= 1
        budget.left += kept
        for _ in range(len(queues)):
            if budget.left <= 0:
                break
            self._dispatch_first()
            budget.left -= 1
        self._known = bool(self)
        return not self._known

    def _dispatch_first(self) -> None:
        queue = self._queues.popleft()
        queue.dirty = False
        at_rest = queue.dispatch()
        if not at_rest and not queue.dirty:
            queue.dirty = True
            # Who is cut short by the budget goes on first; who is overtaken waits for the letters.
            again = self._queues.appendleft if self._budget.left <= 0 else self._queues.append
            again(queue)
        if at_rest:
            came_to_rest(queue)
        elif is_kept_busy(queue):
            tell_who_waits(queue)
