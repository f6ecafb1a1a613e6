"""The queues that were touched by the current input, and are dispatched before it ends."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue


class DirtyQueues(deque["Queue"]):
    """Those of all virtual hosts of a broker, in the order of their dispatch. A queue knows by its
    ``dirty`` that it is here, so that marking it once more costs nothing."""

    __slots__ = ()

    def mark(self, queue: Queue) -> None:
        """``queue`` will be dispatched before the current input ends."""
        if not queue.dirty:
            queue.dirty = True
            self.append(queue)

    def mark_in_turn(self, queues: list[Queue]) -> None:
        """Mark ``queues``, and have them dispatched in this order, behind all others that are
        dirty: the messages that they will share out among them may be fewer than the first one
        could use."""
        if any(queue.dirty for queue in queues):
            moved = set(queues)
            others = [queue for queue in self if queue not in moved]
            self.clear()
            self.extend(others)
        for queue in dict.fromkeys(queues):
            queue.dirty = True
            self.append(queue)

    def dispatch(self) -> None:
        """Dispatch the marked queues, of whichever virtual host, and those that this marks."""
        while self:
            queue = self.popleft()
            queue.dirty = False
            queue.dispatch()
            queue.backlog.wake()
