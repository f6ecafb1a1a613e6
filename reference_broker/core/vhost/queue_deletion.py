"""The deletion of a queue: at once it is gone for everybody, and what it held goes in portions.

Its definition ends with the first record, so after a crash in between there is no trace of it: the
next start drops entries and bindings of queues that are not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from reference_broker.core.queue.removal import remove_everything
from reference_broker.core.work.budget import DECLARATION_UNITS
from reference_broker.core.work.task import tell_each
from reference_broker.core.work.until import NotYet, Until

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.budget import Budget
    from reference_broker.core.work.portions import Portions
    from reference_broker.core.work.task import Steps


class CancelledConsumer(Protocol):
    """A consumer, as far as the deletion of its queue concerns it."""

    def cancelled_by_broker(self) -> None:
        """Tell the client that the queue is gone."""
        ...


def deletion(queue: Queue, bindings: Steps, answer: Callable[[int], None]) -> Steps:
    """The steps that follow when ``queue`` can't be named any more: its ``bindings`` go, and what
    it holds. Then ``answer`` is called with the number of messages that were ready, and after that
    its consumers are told. (As RabbitMQ: who deletes a queue that it consumes hears the -ok first,
    and clients rely on that.)"""
    count = queue.ready
    queue.end()
    yield from bindings
    yield from remove_everything(queue)
    answer(count)
    budget = queue.env.budget
    for consumer in cast("list[CancelledConsumer]", list(queue.consumers)):
        if budget.left <= 0:
            yield None
        consumer.cancelled_by_broker()
        budget.left -= 1


def one_by_one(objects: Mapping[str, Any], delete: Callable[[Any], Steps], budget: Budget) -> Steps:
    """The steps of deleting all of a virtual host's ``objects``, of which ``delete`` takes one
    out."""
    while objects:
        yield from delete(next(iter(objects.values())))
        budget.left -= DECLARATION_UNITS
        if budget.left <= 0:
            yield None


class UnusedQueues:
    """The queues of one virtual host that go by themselves: expired, or without a consumer and
    auto-delete. Thousands may do so at once, so those that the turn has no time for go in later
    ones; who names one of these waits until it is gone.

    ``delete`` takes one of ``queues`` out, and returns the steps that remain; where the others
    ``are_asked`` first, it is there until then.
    """

    __slots__ = (
        "_are_asked",
        "_budget",
        "_delete",
        "_gone",
        "_left",
        "_queues",
        "_vhost_name",
        "_work",
    )

    def __init__(
        self,
        delete: Callable[[Queue], Steps],
        queues: Mapping[str, Queue],
        work: Portions,
        budget: Budget,
        vhost_name: str,
        *,
        are_asked: bool,
    ) -> None:
        self._delete = delete
        self._are_asked = are_asked
        self._queues = queues
        self._work = work
        self._budget = budget
        self._vhost_name = vhost_name
        self._left: dict[Queue, None] = {}
        self._gone = Until()

    def add(self, queue: Queue) -> None:
        """Delete the queue, if that is not on its way already."""
        if self._queues.get(queue.name) is not queue or queue in self._left:
            return
        if self._budget.left > 0 and not self._left and not self._are_asked:
            self._budget.left -= DECLARATION_UNITS
            self._work.start(self._delete(queue), self._vhost_name)
            return
        self._left[queue] = None
        if len(self._left) == 1:
            self._work.start(self._delete_those_left(), self._vhost_name)

    def named(self, queue: Queue) -> Queue | None:
        """``queue``, which somebody names; ``None`` for one whose ``x-expires`` is over, and whose
        deadline had no turn so far: it goes now. Raises :exc:`NotYet` for a queue that is still to
        be deleted."""
        if queue.unused_expiry is not None and queue.unused_expiry.is_over():
            self.add(queue)
        if queue in self._left:
            raise NotYet(self._gone)
        return self._queues.get(queue.name)

    def _delete_those_left(self) -> Steps:
        while self._left:
            if self._budget.left <= 0:
                yield None
            queue = next(iter(self._left))
            self._budget.left -= DECLARATION_UNITS
            if self._queues.get(queue.name) is queue:  # it may have gone with its connection
                yield from self._delete(queue)
            del self._left[queue]
        gone, self._gone = self._gone, Until()
        yield from tell_each(gone, self._budget)
