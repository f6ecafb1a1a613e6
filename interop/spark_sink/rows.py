"""The rows of a round, and the messages that they must become. Pure.

Row *n* has the body and the key of *n*, and Spark's ``range`` cuts the rows into partitions of
equal size, in order; so an automatic id follows from *n*, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PARTITIONS = 4
BATCHES_OF_PARTITION = 10
ROWS_OF_BATCH = 100
ROWS_OF_PARTITION = BATCHES_OF_PARTITION * ROWS_OF_BATCH
ROWS = PARTITIONS * ROWS_OF_PARTITION
BODY_CHARACTERS = 1_000
"""Half a partition is more than all buffers between a task's processes hold, so that some of its
rows are published when the fault comes."""

BODY_SQL = f"rpad(concat('row ', id), {BODY_CHARACTERS}, '.')"
KEY_SQL = "concat('key-', id)"


@dataclass(frozen=True, slots=True)
class Row:
    """A row that must arrive: its body, and the partition that it is in."""

    body: bytes
    partition: int


def body(number: int) -> bytes:
    """The body of row ``number``."""
    return f"row {number}".ljust(BODY_CHARACTERS, ".").encode()


def partition_of(body: bytes) -> int:
    """The partition of the row that has this body."""
    return int(body.rstrip(b".").removeprefix(b"row ")) // ROWS_OF_PARTITION


def expected(ids: Literal["column", "auto"], job_id: str) -> dict[str, Row]:
    """The message id that each row must have, and the row."""
    found = {}
    for number in range(ROWS):
        partition, place = divmod(number, ROWS_OF_PARTITION)
        name = f"key-{number}" if ids == "column" else f"{job_id}/{partition}/{place}"
        found[name] = Row(body(number), partition)
    return found


ROWS_OF_FILE = 500


def bodies(count: int) -> dict[str, bytes]:
    """The first ``count`` rows by their keys."""
    return {f"key-{number}": body(number) for number in range(count)}


def text_of_file(number: int) -> bytes:
    """The rows of one file of a stream's source."""
    first = number * ROWS_OF_FILE
    return b"".join(body(each) + b"\n" for each in range(first, first + ROWS_OF_FILE))
