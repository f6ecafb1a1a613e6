"""A job's report, where people find it: the driver's log, and a line of JSON in ``reportPath``.

The log is the logger ``mqkit.spark``. Where nobody has set up logging - as in Spark's own Python
processes in the driver, in which ``format("amqp")`` commits - its lines go to standard error, which
Spark passes on to the driver's.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime

from mqkit_spark.sink.report import PublishReport

LOGGER = logging.getLogger("mqkit.spark")


def write(report: PublishReport, path: str | None, batch_id: int | None = None) -> None:
    """Log ``report``, and append it to ``path``, which is made readable for its owner only.

    Every row is confirmed by now: where the file can't be written, that is a warning in the log,
    and does not fail the job.
    """
    _log(logging.INFO, f"published: {report}")
    if path is None:
        return
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        **({} if batch_id is None else {"batch_id": batch_id}),
        **report.to_dict(),
    }
    try:
        _append(path, json.dumps(line) + "\n")
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        _log(logging.WARNING, f"reportPath {path} can't be written: {why}; {report}")


def warn(words: str) -> None:
    """A warning in the driver's log."""
    _log(logging.WARNING, words)


def _append(path: str, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line.encode())  # one write: jobs may share a file
    finally:
        os.close(descriptor)


def _log(level: int, words: str) -> None:
    if LOGGER.hasHandlers():
        LOGGER.log(level, "%s", words)
    else:
        print(f"mqkit.spark {logging.getLevelName(level)}: {words}", file=sys.stderr, flush=True)
