"""A message that left its queue without being consumed, on its way to a dead-letter exchange."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections import Counter

    from reference_broker.core.arguments.queue_type import QueueType
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.queue.transfer import Departure


class DeathReason(StrEnum):
    """Why, in the words of x-death."""

    EXPIRED = "expired"
    MAXLEN = "maxlen"
    REJECTED = "rejected"
    DELIVERY_LIMIT = "delivery_limit"


class Death(NamedTuple):
    """One message that leaves ``queue``.

    ``sequence`` is its entry, which is still taken: whoever sends the dead letter has
    :meth:`Exits.move` log what becomes of it, if that can be, and then calls :meth:`Queue.buried`.
    It is -1 for a message that the queue refused.
    """

    queue: Queue
    sequence: int
    content: Content
    reason: DeathReason

    @property
    def is_logged(self) -> bool:
        """The journal has the entry."""
        return self.sequence >= 0 and self.queue.durable and self.content.position >= 0


def is_in_doubt(source: Death | Departure) -> bool:
    """True for a message that may have left its queue once before, as it does now
    (:mod:`~reference_broker.core.index.in_doubt`)."""
    queue, sequence = source.queue, source.sequence
    if 0 <= source.content.position < queue.env.journal.redelivered_below:
        return queue.expiry.may_have_left(sequence, source.content)
    return queue.arrived_in_doubt is not None and sequence in queue.arrived_in_doubt


Deaths: TypeAlias = "Counter[tuple[DeathReason, QueueType, bool]]"
"""Numbers of messages that left by themselves: by reason, type of their queue, and true where the
queue had a dead-letter exchange."""
