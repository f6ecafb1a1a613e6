"""A line number that knows its file, for a topology of several files."""

from __future__ import annotations

from typing import Self


class Line(int):
    """A number of a line, counted from 1; 0 is the file as a whole.

    ``file`` is the name of the file, and ``rank`` its place among the topology's files. It compares
    and prints as the number, so whoever knows only one file need not know of others.
    """

    rank: int
    file: str

    def __new__(cls, number: int, rank: int = 0, file: str = "") -> Self:
        line = super().__new__(cls, number)
        line.rank, line.file = rank, file
        return line


def source_of(line: int) -> tuple[int, str]:
    """The rank and the name of the line's file; ``(0, "")`` for a plain number."""
    return (line.rank, line.file) if isinstance(line, Line) else (0, "")


def place(file: str, line: int) -> str:
    """``topology.yaml:7``; the line's own file, where it knows one, and ``file`` alone where the
    topology did not come from one."""
    named = source_of(line)[1] or file
    return f"{named}:{line}" if line else named
