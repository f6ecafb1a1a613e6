"""Free space of a journal that can be full, for messages of clients.

While there is plenty nobody asks: a route that a channel remembers is good for messages up to
``plain_bytes`` and ``plain_entries``. When room gets scarce the journal says so, at once; then all
remembered routes are void, and every publish asks for itself before it changes anything. One that
is not admitted waits, with its channel suspended (:mod:`waiting_publishers`); acks and definitions
are never asked for, since the journal has kept room for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class NoSpace(Exception):
    """The message has to wait; nothing was changed. Suspend its channel with ``await_room``."""


class FreeSpace(Protocol):
    """The free space of a journal, as publishers see it."""

    scarce: bool
    """Each publish has to ask :meth:`admits`, whatever its size."""
    plain_bytes: int
    """A message whose header and body are larger asks :meth:`admits` even when not ``scarce``."""
    plain_entries: int
    """A message that goes to more queues asks :meth:`admits` even when not ``scarce``."""

    def listen(self, became_scarce: Callable[[], None]) -> None:
        """Have ``became_scarce`` called whenever ``scarce`` becomes true, in the middle of whatever
        is logged."""
        ...

    def admits(self, size_bytes: int, entries: int, messages: int = 1) -> bool:
        """True if messages of so many bytes (routes, headers and bodies) in so many queues can be
        logged now: log them before anything else, and they can be stored. If not, the journal sees
        to it that there will be room: ask again after each sync."""
        ...

    def nobody_waits(self) -> None:
        """Say that no message waits for space any more. Idempotent."""
        ...


class UnlimitedSpace:
    """The free space of a journal that keeps nothing."""

    scarce = False
    plain_bytes = 1 << 62
    plain_entries = 1 << 62

    def listen(self, became_scarce: Callable[[], None]) -> None:
        """It never does."""

    def admits(self, size_bytes: int, entries: int, messages: int = 1) -> bool:
        return True

    def nobody_waits(self) -> None:
        """Nobody ever did."""
