"""A window of a lot: so many messages that are read, decided about, and settled together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from mqkit.lots.clock.due import Action, Due, due
from mqkit.lots.parked_time import parked_since
from mqkit.message import Delivery
from mqkit.retry.parked import ParkedMessage
from mqkit.topology.lot_model import LotModel

WINDOW = 100
"""Enough to hide the round trip, and few enough to be there twice after a kill."""
WINDOW_OCTETS = 4 * 1024 * 1024
"""Bodies in memory at a time, but for a single one that is larger."""

Now = Callable[[], datetime]

Read = Callable[[Delivery, str], ParkedMessage]
"""A delivery as it was read from the lot of that name."""


@dataclass(slots=True)
class Window:
    """Messages by what is to be done with them."""

    back: list[ParkedMessage] = field(default_factory=list)
    archive: list[ParkedMessage] = field(default_factory=list)
    octets: int = 0
    messages: int = 0

    @property
    def is_full(self) -> bool:
        """True if no other message should be read before these are settled."""
        return self.messages >= WINDOW or self.octets >= WINDOW_OCTETS

    def take(self, lot: LotModel, message: ParkedMessage, now: datetime) -> tuple[Due, bool]:
        """Decide about ``message``; one that stays is not kept. True beside the decision if the
        message does not say since when it lies there."""
        since = parked_since(message.delivery.headers, now)
        decided = due(lot, since, message.replays, now)
        self.messages += 1
        self.octets += len(message.delivery.body)
        match decided.action:
            case Action.REPLAY:
                self.back.append(message)
            case Action.ARCHIVE:
                self.archive.append(message)
        return decided, since is None


def ids_of(messages: list[ParkedMessage]) -> tuple[str, ...]:
    """The message ids, in order; empty text for a message without one."""
    return tuple(message.message_id or "" for message in messages)
