"""Who gets which channel: the pool's decisions, without its I/O.

Laws:

* a channel is lent to one borrower at a time, and only while it is open and quiescent - no confirm
  outstanding, so that nobody sees the answers to somebody else's publishes;
* waiters are served first come, first served;
* channels that exist at the broker - opening, idle, lent, settling or closing - are never more
  than ``channels_max``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar


class SlotState(StrEnum):
    """The states of a slot of the pool."""

    OPENING = "opening"
    IDLE = "idle"
    LENT = "lent"
    SETTLING = "settling"
    """Returned with confirms outstanding; lent again when they have come."""
    CLOSING = "closing"
    """Still a channel at the broker until it has answered ``channel.close``."""


SLOT_TRANSITIONS: dict[SlotState, tuple[SlotState, ...]] = {
    SlotState.OPENING: (SlotState.IDLE, SlotState.CLOSING),
    SlotState.IDLE: (SlotState.LENT, SlotState.SETTLING, SlotState.CLOSING),
    SlotState.LENT: (SlotState.IDLE, SlotState.SETTLING, SlotState.CLOSING),
    SlotState.SETTLING: (SlotState.IDLE, SlotState.CLOSING),
    SlotState.CLOSING: (),
}
"""Every move that a slot may make; a closing slot is only ever removed."""


class SlotView(Protocol):
    """A slot of the pool, as far as the assignment looks at it."""

    @property
    def state(self) -> SlotState: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def is_quiescent(self) -> bool: ...


Waiter = TypeVar("Waiter")
Slot = TypeVar("Slot", bound=SlotView)


@dataclass(frozen=True, slots=True)
class Assignment(Generic[Waiter, Slot]):
    """The moves to make now. After they are made, the next assignment is empty."""

    lend: tuple[tuple[Waiter, Slot], ...]
    drop: tuple[Slot, ...]
    """Slots whose channel is gone already: they leave the pool without I/O."""
    settle: tuple[Slot, ...]
    """Idle slots that somebody went on publishing on after giving them back."""
    open_count: int


def assign(
    waiters: Sequence[Waiter], slots: Sequence[Slot], channels_max: int
) -> Assignment[Waiter, Slot]:
    """Lend what is free to whoever waits, and say how many more channels to open for the rest."""
    idle = [slot for slot in slots if slot.state is SlotState.IDLE]
    drop = tuple(slot for slot in idle if not slot.is_open)
    usable = [slot for slot in idle if slot.is_open and slot.is_quiescent]
    settle = tuple(slot for slot in idle if slot.is_open and not slot.is_quiescent)
    lend = tuple(zip(waiters, usable, strict=False))
    opening = sum(1 for slot in slots if slot.state is SlotState.OPENING)
    unserved = len(waiters) - len(lend) - opening
    room = channels_max - (len(slots) - len(drop))
    return Assignment(lend, drop, settle, max(0, min(unserved, room)))
