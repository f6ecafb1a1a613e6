"""Cells by label: above the bound, what is new shares one."""

from __future__ import annotations

from mqkit.metrics.bounded import LABELS_MAX, OTHER, BoundedCells


def test_labels_above_the_bound_share_the_cell_of_other() -> None:
    cells: BoundedCells[str, list[str]] = BoundedCells(list, OTHER)
    for number in range(LABELS_MAX + 50):
        cells[f"q{number}"].append("x")
    assert len(cells) == LABELS_MAX + 1
    assert len(cells[OTHER]) == 50
    assert cells["q0"] == ["x"], "those that were there before have their own still"
    cells["one more"].append("x")
    assert len(cells[OTHER]) == 51
