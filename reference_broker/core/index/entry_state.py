"""The states of a queue's entry, and the one table of how it goes from one to the next."""

from __future__ import annotations

from enum import IntEnum


class EntryState(IntEnum):
    """The state byte of an entry."""

    READY = 0
    REDELIVERED = 1
    """Ready again after it was handed out."""
    TAKEN = 2
    """Handed out; a lease speaks for it."""
    GONE = 3
    """Acked, dead-lettered, expired, dropped or purged."""


TRANSITIONS: dict[EntryState, tuple[EntryState, ...]] = {
    EntryState.READY: (EntryState.TAKEN, EntryState.GONE),
    EntryState.REDELIVERED: (EntryState.TAKEN, EntryState.GONE),
    EntryState.TAKEN: (EntryState.READY, EntryState.REDELIVERED, EntryState.GONE),
    EntryState.GONE: (),
}
"""Complete: what is not here raises :exc:`IllegalTransition`, and nothing changes."""


class IllegalTransition(AssertionError):
    """The broker's own mistake: an entry was asked for a change that its state doesn't allow."""
