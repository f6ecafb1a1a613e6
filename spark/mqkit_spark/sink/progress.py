"""A progress bar for ``publish``: the tasks that are done, of all, on standard error.

Over Spark Connect the session tells its handlers; a session of the same process is asked by a
thread of its own, through its status tracker, about the jobs of a group that only this call has.
"""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo

POLL_INTERVAL_S = 0.5
"""Seconds between two looks at the tasks."""

WIDTH = 40

JOB_GROUP = "spark.jobGroup.id"


def bar(done: int, tasks: int) -> str:
    """One line: ``publish [####....] 1/2 tasks``."""
    filled = WIDTH * done // tasks if tasks else 0
    return f"publish [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{tasks} tasks"


class Bar:
    """Writes each state once, over the one before. Thread-safe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = ""
        self._lock = threading.Lock()

    def show(self, done: int, tasks: int) -> None:
        """The state now."""
        with self._lock:
            line = bar(done, tasks)
            if tasks and line != self._shown:
                self._shown = line
                self._stream.write(f"\r{line}")
                self._stream.flush()

    def end(self) -> None:
        """Leave the line; what is written next begins its own."""
        with self._lock:
            if self._shown:
                self._stream.write("\n")
                self._stream.flush()


@contextmanager
def progress_bar(spark: SparkSession) -> Iterator[None]:
    """Shows the tasks of the jobs that are started in the block, by this thread."""
    shown = Bar(sys.stderr)
    watch = _over_connect if _is_connect(spark) else _in_process
    try:
        with watch(spark, shown):
            yield
    finally:
        shown.end()


def _is_connect(spark: SparkSession) -> bool:
    return ".connect." in type(spark).__module__


@contextmanager
def _over_connect(spark: SparkSession, shown: Bar) -> Iterator[None]:
    def handle(
        stages: Iterable[StageInfo] | None,
        inflight_tasks: int,
        operation_id: str | None,
        done: bool,
    ) -> None:
        known = list(stages or ())
        shown.show(
            sum(stage.num_completed_tasks for stage in known),
            sum(stage.num_tasks for stage in known),
        )

    handler = cast(
        "ProgressHandler", handle
    )  # an abstract class there; a function is what it takes
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


@contextmanager
def _in_process(spark: SparkSession, shown: Bar) -> Iterator[None]:
    context = spark.sparkContext
    group = f"mqkit-publish-{uuid.uuid4()}"
    before = context.getLocalProperty(JOB_GROUP)
    context.setLocalProperty(JOB_GROUP, group)
    ended = threading.Event()

    def look() -> None:
        tracker = context.statusTracker()
        stages = {
            stage
            for job in tracker.getJobIdsForGroup(group)
            if (about := tracker.getJobInfo(job)) is not None
            for stage in about.stageIds
        }
        known = [info for stage in stages if (info := tracker.getStageInfo(stage)) is not None]
        shown.show(
            sum(info.numCompletedTasks for info in known), sum(info.numTasks for info in known)
        )

    def watch() -> None:
        while not ended.wait(POLL_INTERVAL_S):
            look()

    watcher = threading.Thread(target=watch, name="mqkit-spark-progress", daemon=True)
    watcher.start()
    try:
        yield
        ended.set()
        watcher.join()
        look()
    finally:
        ended.set()
        context.setLocalProperty(JOB_GROUP, before)  # type: ignore[arg-type] # None removes it
