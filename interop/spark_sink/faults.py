"""The faults, in front of the sink in its tasks. They leave marks in a folder: each attempt of a
task a start, and who waits for the fault a pause."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interop.spark_cluster import until
from interop.spark_sink.plan import Kind

if TYPE_CHECKING:
    import pyarrow

WAIT_S = 150.0
"""The fault comes sooner; else the task goes on, and the judgement finds that it was none."""


class MadeToFail(RuntimeError):
    """Raised by a task that shall fail."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of one round. ``folder`` is the round's own."""

    kind: Kind
    faulty: tuple[int, ...]
    after: int
    folder: str

    def run(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """The function for ``mapInArrow``: the same batches."""
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        partition = context.partitionId()
        is_first = not starts_of(Path(self.folder), partition)
        name = f"{partition}-{secrets.token_hex(4)}"
        _mark(self.folder, f"start-{name}")
        for number, batch in enumerate(batches, start=1):
            yield batch
            if is_first and partition in self.faulty and number == self.after:
                self._meet(name, partition)

    def _meet(self, name: str, partition: int) -> None:
        folder = Path(self.folder)
        if self.kind is Kind.SPECULATION:
            until(lambda: len(starts_of(folder, partition)) > 1, WAIT_S)
            return
        _mark(self.folder, f"pause-{name}")
        until((folder / f"go-{name}").exists, WAIT_S)
        if self.kind is Kind.FAILING_TASK:
            raise MadeToFail(f"partition {partition} is made to fail")


def starts_of(folder: Path, partition: int) -> list[Path]:
    """The marks of the attempts of a partition's task."""
    return sorted(folder.glob(f"start-{partition}-*"))


def pauses(folder: Path) -> list[str]:
    """The names of those that wait for :func:`go`."""
    return [
        name
        for path in sorted(folder.glob("pause-*"))
        if not (folder / f"go-{(name := path.name.removeprefix('pause-'))}").exists()
    ]


def go(folder: Path, name: str) -> None:
    """Have one go on."""
    (folder / f"go-{name}").touch()


def pids_of_pauses(folder: Path) -> set[int]:
    """The processes that wait, or have waited."""
    return {int(path.read_text()) for path in folder.glob("pause-*")}


def _mark(folder: str, name: str) -> None:
    """Whoever sees the mark sees all of it."""
    unfinished = Path(folder) / f"unfinished-{name}"
    unfinished.write_text(str(os.getpid()))
    unfinished.rename(Path(folder) / name)
