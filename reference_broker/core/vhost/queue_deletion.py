"""The deletion of a queue: at once it is gone for everybody, and what it held goes in portions.

Its definition ends with the first record, so after a crash in between there is no trace of it: the
next start drops entries and bindings of queues that are not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast

from reference_broker.core.queue.removal import remove_everything

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue
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
