"""mqkit_spark.sink.journal: a line in the log, and one of JSON in a file."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mqkit_spark.sink import journal
from mqkit_spark.sink.report import TaskReport, total

REPORT = total("job", [TaskReport(0, 0, "job", rows=3, confirmed=3)])


def test_each_report_is_a_line_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    journal.write(REPORT, str(path))
    journal.write(REPORT, str(path), batch_id=7)
    batch, stream = map(json.loads, path.read_text().splitlines())
    assert (batch["job_id"], batch["rows"], batch["confirmed"]) == ("job", 3, 3)
    assert "batch_id" not in batch
    assert stream["batch_id"] == 7
    assert {**REPORT.to_dict(), "time": batch["time"]} == batch
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "mqkit.spark"):
        journal.write(REPORT, str(tmp_path / "missing" / "reports.jsonl"))
    info, warning = caplog.records
    assert info.getMessage().startswith("published: job_id=job tasks=1")
    assert warning.levelno == logging.WARNING
    assert "can't be written: no such file or directory; job_id=job" in warning.getMessage()


def test_without_any_logging_set_up_the_line_goes_to_standard_error() -> None:
    code = (
        "from mqkit_spark.sink import journal; from mqkit_spark.sink.report import total;"
        " journal.write(total('job', []), None); journal.warn('careful')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stderr.splitlines()
    assert first.startswith("mqkit.spark INFO: published: job_id=job tasks=0")
    assert second == "mqkit.spark WARNING: careful"
