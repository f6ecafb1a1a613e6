"""The folder of one batch: its offset, and of each partition the data and the counts.

The folder stands from the plan of its batch, before Spark logs the offset, until the batch is
settled; then it goes as a whole, by a rename. So nobody takes messages under the name of a batch
that is over: whoever tries, late, has no folder to link a file in.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from mqkit_spark.source.stream.offset import Offset
from mqkit_spark.source.stream.spool.counts import Counts, text_of
from mqkit_spark.source.stream.spool.disk import sync, write
from mqkit_spark.source.stream.spool.faults import SpoolError

DATA_SUFFIX = ".arrow"
OFFSET_FILE = "offset.json"


@dataclass(frozen=True, slots=True)
class BatchFolder:
    """``batches`` is the folder of all of them. Pickled into tasks."""

    batches: Path
    offset: Offset

    @property
    def path(self) -> Path:
        return self.batches / self.offset.name

    def data(self, partition: int) -> Path:
        """The rows of a partition. If it is there, it is whole, and stays as it is."""
        return self.path / f"{partition:05d}{DATA_SUFFIX}"

    def attempt(self, partition: int) -> Path:
        """A file for an attempt of a partition; another one each time."""
        return self.path / f".attempt-{partition:05d}-{os.getpid()}-{secrets.token_hex(4)}"

    def counts(self, partition: int) -> Counts | None:
        """The counts of a partition; ``None`` where its reader died before it wrote them."""
        try:
            return Counts.from_json(json.loads(self._counts(partition).read_bytes()))
        except (FileNotFoundError, ValueError):
            return None

    def write_counts(self, partition: int, counts: Counts) -> None:
        """Not synced: a count that a power failure takes with it is worth no time."""
        write(self._counts(partition), text_of(counts), synced=False)

    def is_there(self) -> bool:
        """False for a batch that was never planned here, or is settled."""
        return (self.path / OFFSET_FILE).exists()

    def is_taken(self) -> bool:
        """True from the moment that a message of it may have been acked."""
        return any(path.suffix == DATA_SUFFIX for path in self.path.iterdir())

    def files(self) -> dict[int, Path]:
        """The partitions that have their rows."""
        every = ((index, self.data(index)) for index in range(self.offset.partitions))
        return {index: path for index, path in every if path.exists()}

    def create(self) -> None:
        """Have the folder there whole and synced; it must not be there."""
        making = self.batches / f".making-{self.offset.name}"
        making.mkdir()
        write(making / OFFSET_FILE, json.dumps(self.offset.to_json()).encode())
        os.rename(making, self.path)
        sync(self.batches)

    def _counts(self, partition: int) -> Path:
        return self.path / f"{partition:05d}.json"


def standing(batches: Path) -> list[BatchFolder]:
    """The batches that are not settled, in their order. Raises :exc:`SpoolError` for a folder that
    is none of ours."""
    found = []
    for path in sorted(batches.iterdir()):
        if path.name.startswith("."):
            continue
        try:
            offset = Offset.from_json(json.loads((path / OFFSET_FILE).read_bytes()))
        except (OSError, ValueError) as error:
            raise SpoolError(f"spool folder {path} can't be read: {error}") from None
        found.append(BatchFolder(batches, offset))
    return found
