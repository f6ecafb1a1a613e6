"""``mqkit bench``: the command line, from options to a line that says why not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mqkit_cli", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.slow
def test_a_scenario_prints_its_table_and_writes_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    result = bench("backlog", "--alone", "--messages", "500", "--json", str(file))
    assert result.returncode == 0, result.stderr
    assert "| mqkit reference broker | 500 / 1 |" in result.stdout
    (row,) = json.loads(file.read_text())
    assert [restart["recovered"] for restart in row["restarts"]] == [500, 500]


@pytest.mark.slow
def test_a_wish_that_does_not_fit_the_disk_is_a_line() -> None:
    result = bench("stuck", "--segments", "65535", "--stuck-bytes", "131064")
    too_large = bench("backlog", "--body-bytes", "1000000")
    assert (result.returncode, too_large.returncode) == (2, 2)
    assert "GiB free" in result.stderr
    assert not result.stdout
