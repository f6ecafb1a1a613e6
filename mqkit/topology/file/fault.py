"""A fault in a topology: where it is, what was found, what was expected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from mqkit.errors import TopologyError
from mqkit.topology.file.line import place, source_of

MAX_FAULTS_SHOWN = 50
"""A message that scrolls away helps nobody; the rest is counted."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault. ``line`` counts from 1; 0 means that the topology did not come from a file.

    ``path`` leads to the value, like ``queues.delays.retry.after[2]``. Faults are in the order of
    their files, and then of their lines.
    """

    source: tuple[int, str] = field(init=False, repr=False)
    """The rank and the name of the file, as :func:`~mqkit.topology.file.line.source_of` has it."""
    line: int
    path: str
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", source_of(self.line))

    @property
    def file(self) -> str | None:
        """The file's name, where the topology has several; else whoever shows the fault has it."""
        return self.source[1] or None

    def show(self, file: str) -> str:
        """``topology.yaml:7: queues.delays: ...``; ``file`` where the fault knows no file."""
        where = place(file, self.line)
        return f"{where}: {self.path}: {self.message}" if self.path else f"{where}: {self.message}"


def topology_error(file: str, faults: Iterable[Fault]) -> TopologyError:
    """All ``faults``, sorted by line, as one error with a line for each."""
    ordered = sorted(set(faults))
    lines = [fault.show(file) for fault in ordered[:MAX_FAULTS_SHOWN]]
    if len(ordered) > MAX_FAULTS_SHOWN:
        lines.append(f"{file}: and {len(ordered) - MAX_FAULTS_SHOWN} more faults")
    return TopologyError("\n".join(lines))


def meant(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` for a close word, else the list of what is known."""
    options = list(known)
    close = get_close_matches(word, options, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"expected one of {', '.join(options)}" if options else "expected nothing here"
