"""Cells by label, of which there are only so many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

LABELS_MAX = 200
"""Exchanges told apart, and handlers of queues: a program has some dozens. More are names that it
makes as it runs, and each would be some twenty series of a Prometheus."""

OTHER = "other"
"""The label of what is above that."""

LabelT = TypeVar("LabelT")
CellT = TypeVar("CellT")


class BoundedCells(dict[LabelT, CellT], Generic[LabelT, CellT]):
    """Makes the cell of a label when it is first asked for. Beyond :data:`LABELS_MAX` labels, all
    new ones have one cell, that of ``other``."""

    def __init__(self, new: Callable[[], CellT], other: LabelT) -> None:
        super().__init__()
        self._new = new
        self._other = other

    def __missing__(self, label: LabelT) -> CellT:
        if len(self) >= LABELS_MAX and label != self._other:
            return self[self._other]
        cell = self[label] = self._new()
        return cell
