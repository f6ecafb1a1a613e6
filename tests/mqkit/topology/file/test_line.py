"""Lines that know their file: numbers to whoever does not ask."""

from __future__ import annotations

import copy

import pytest

from mqkit.topology.file.line import Line, place, source_of


def test_a_line_is_its_number_and_knows_its_file() -> None:
    line = Line(7, 1, "prod.yaml")
    assert (line, f"{line}", line + 0) == (7, "7", 7)
    assert source_of(line) == (1, "prod.yaml")
    assert source_of(7) == (0, "")


def test_a_copy_knows_the_file_too() -> None:
    assert source_of(copy.deepcopy(Line(7, 1, "prod.yaml"))) == (1, "prod.yaml")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (7, "all:7"),
        (0, "all"),
        (Line(7, 1, "prod.yaml"), "prod.yaml:7"),
        (Line(0, 1, "prod.yaml"), "prod.yaml"),
    ],
)
def test_a_place_names_the_lines_own_file_before_the_topologys(line: int, shown: str) -> None:
    assert place("all", line) == shown
