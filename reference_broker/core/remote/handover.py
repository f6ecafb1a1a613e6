"""Handing a message over to another node: it stays where it is until the home has answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto, unique
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.core.message.content import Content
    from reference_broker.core.remote.ports import Home


@unique
class Outcome(Enum):
    """The end of a handover."""

    TAKEN = auto()
    """The home has the message, on disk where it has to be."""
    REFUSED = auto()
    """A queue of the home has not taken it: it is full."""
    LOST = auto()
    """The home was lost, or is down: nobody knows whether it has the message."""


_DOWN = -1
"""The era in which nothing comes to a home that is down."""


def hand_over(
    home: Home, queue_ids: Sequence[int], content: Content, told: Callable[[Outcome], None]
) -> None:
    """Publish ``content`` to queues of ``home``. ``told`` is called once with the outcome, never
    within this call; until then the caller keeps the message."""
    refused: list[None] = []
    era = home.era if home.is_up else _DOWN
    number = home.publish(queue_ids, content.again(), lambda: refused.append(None))

    def answered() -> None:
        if not refused:
            told(Outcome.TAKEN)
        else:
            told(Outcome.REFUSED if home.era == era else Outcome.LOST)

    home.confirmed.when_at(number, answered)
