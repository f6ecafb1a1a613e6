"""Counters of an inbox."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class InboxCounts:
    """Counters over all consumers of an inbox since it was made; they only ever grow."""

    handled: int = 0
    """Messages whose handler's work was committed together with their key."""
    known: int = 0
    """Messages whose key was there: acked, and not handled."""
    refused: int = 0
    """Messages without idempotency key and message id that were parked."""
    unkeyed: int = 0
    """Such messages that were handled all the same, as the inbox says."""
    cleaned: int = 0
    """Keys that were deleted for their age."""
