"""The stage: one broker, its queue, the rows and the Spark session that all contestants use."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from mqkit_bench.contestant import Contestant, Counts
from mqkit_bench.session import Session
from mqkit_bench.spark.rows import PARTITIONS, Rows
from mqkit_bench.spark.writers import write_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUEUE = "bench.spark"
QUIET_SHARE = 0.05
"""A broker that uses less than this of a core has done what was left to do."""
QUIET_INTERVAL_S = 0.5
QUIET_TIMEOUT_S = 30.0
"""A broker that is still busy then has other work than the last round."""


class Direction(StrEnum):
    """From rows to messages, or back."""

    SINK = "sink"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Stage:
    """``frames`` are the rows pre-encoded, a file for each partition."""

    broker: Contestant
    spark: SparkSession
    rows: Rows
    frames: list[Path]
    folder: Path
    """On the same disk as the broker's data."""
    partitions: int = PARTITIONS
    """The tasks of mqkit and of pika, with a connection each."""

    @property
    def url(self) -> str:
        address = self.broker.address
        login = f"{address.username}:{address.password}"
        return f"amqp://{login}@{address.host}:{address.port}/"

    @contextmanager
    def set(self, direction: Direction, rows: int) -> Iterator[None]:
        """A durable queue for one play: empty, or filled with ``rows``; and at the end it holds
        what it should, and goes. Raises :exc:`~mqkit_bench.report.Discrepancy`."""
        with closing(Session(self.broker.address)) as control:
            control.declare(QUEUE)
        try:
            if direction is Direction.SOURCE:
                write_all(self.broker.address, self.frames, rows)
            self._wait_until_quiet()
            yield
            expected = rows if direction is Direction.SINK else 0
            self.broker.expect([QUEUE], Counts(expected, 0))
        finally:
            with closing(Session(self.broker.address)) as control:
                control.delete(QUEUE)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder for one play."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            yield Path(folder)

    def _wait_until_quiet(self) -> None:
        deadline, before = time.monotonic() + QUIET_TIMEOUT_S, self.broker.cpu_s()
        while time.monotonic() < deadline:
            time.sleep(QUIET_INTERVAL_S)
            now = self.broker.cpu_s()
            if now - before < QUIET_SHARE * QUIET_INTERVAL_S:
                return
            before = now
