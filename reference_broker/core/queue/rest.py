"""A queue at rest: what consumers take has been handed out, what is overdue or too much has gone,
and all that is coming back is back. Who asks for a message, or a count, asks a queue at rest, as if
all that came before had been done at once.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from reference_broker.core.work.until import NotYet, Until

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue

CONSUMERS_ASKED_MAX = 1_024
"""Consumers of a queue that are asked whether they are leaving, in 0.1 ms; those that end together
have mostly begun together."""

REST_S = 0.01
"""Seconds after which a queue that has not come to rest is asked as it is: one that is filled as
fast as it is emptied never does. What comes back as a whole is waited for however long it takes."""


def settle_down(queue: Queue) -> bool:
    """Dispatch ``queue``, and follow the dead letters of that; false when the budget is spent."""
    while not queue.dispatch():
        if not queue.env.follow_letters():
            queue.busy_since_s = queue.busy_since_s or queue.env.moment.mono_s
            return False
    queue.busy_since_s = 0.0
    return True


def require_rest(queue: Queue) -> None:
    """Raises :exc:`NotYet` where ``queue`` is not at rest."""
    if queue.returning or not (settle_down(queue) or is_kept_busy(queue)):
        raise NotYet(until_rest(queue))


def require_no_leaving(queue: Queue) -> None:
    """Raises :exc:`NotYet` where a consumer is about to leave ``queue``: whoever asks for a count
    of consumers, or to have the queue to himself, asks as if it were gone."""
    for consumer in islice(queue.consumers, CONSUMERS_ASKED_MAX):
        leaving = consumer.leaving
        if leaving is not None:
            raise NotYet(leaving)


def is_kept_busy(queue: Queue) -> bool:
    """True for a queue that did not come to rest for :data:`REST_S`."""
    since_s = queue.busy_since_s
    return since_s > 0 and queue.env.moment.mono_s - since_s >= REST_S


def until_rest(queue: Queue) -> Until:
    """The next time that ``queue`` is at rest, or deleted."""
    if queue.rest is None:
        queue.rest = Until()
    queue.env.mark_dirty(queue)
    return queue.rest


def came_to_rest(queue: Queue) -> None:
    """Tell those who wait for that, or for the head."""
    queue.busy_since_s = 0.0
    tell_who_waits(queue)


def tell_who_waits(queue: Queue) -> None:
    """Have them ask again: ``queue`` is at rest, or will not be for long."""
    queue.backlog.wake()
    if queue.rest is not None and not queue.returning:
        rest, queue.rest = queue.rest, None
        rest.happened()
