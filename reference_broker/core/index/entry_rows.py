"""Rows of an index, as it hands them out: one entry, or consecutive ones as parallel columns."""

from __future__ import annotations

from array import array
from typing import NamedTuple


class IndexEntry(NamedTuple):
    """Position, sizes and expiry of one index entry."""

    position: int
    size: int
    stored: int
    expires_at_ms: int


class ReadyRun(NamedTuple):
    """Ready entries with consecutive sequences, in parallel columns."""

    sequences: range
    positions: array[int]
    sizes: array[int]


class EntryRun(NamedTuple):
    """Entries with consecutive sequences that are about to go, in parallel columns (copies)."""

    sequences: range
    positions: array[int]
    """``q``"""
    stored: array[int]
    """``I``: bytes of the log that each is accounted for."""
