"""A message that left its queue without being consumed, on its way to a dead-letter exchange."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reference_broker.core.content import Content
    from reference_broker.core.queue import Queue


class DeathReason(StrEnum):
    """Why, in the words of x-death."""

    EXPIRED = "expired"
    MAXLEN = "maxlen"
    REJECTED = "rejected"


class Death(NamedTuple):
    """One message that left ``queue``.

    ``sequence`` is its entry in the journal, which is not acked yet: whoever sends the dead letter
    does that. It is -1 when the journal has no entry.
    """

    queue: Queue
    sequence: int
    content: Content
    reason: DeathReason
