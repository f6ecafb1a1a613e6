"""Some sequences of an index, as ranges: 16 bytes for as many as follow each other."""

from __future__ import annotations

from array import array
from bisect import bisect_right

RANGES_MAX = 1_000
"""Ranges told apart. What comes after that is taken into the last one, with all between."""


class SequenceRanges:
    """Sequences that were added in rising order."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self) -> None:
        self._firsts = array("Q")
        self._lasts = array("Q")

    def __contains__(self, sequence: int) -> bool:
        place = bisect_right(self._firsts, sequence) - 1
        return place >= 0 and sequence <= self._lasts[place]

    def add(self, sequence: int) -> None:
        """Add one that is above all that are here."""
        lasts = self._lasts
        if lasts and (lasts[-1] + 1 == sequence or len(lasts) == RANGES_MAX):
            lasts[-1] = sequence
        else:
            self._firsts.append(sequence)
            lasts.append(sequence)
