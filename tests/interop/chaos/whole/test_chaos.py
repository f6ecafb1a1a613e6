"""A short run for each transport against the reference broker, with faults that take no time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
SECONDS = 12
SEED = 14
ONLY = "cut,delete tier,held confirms,close all connections"


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["native", "aio-pika"])
def test_a_short_run_breaks_no_law(transport: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "interop.chaos", "--transport", transport),
            *("--seconds", str(SECONDS), "--seed", str(SEED), "--only", ONLY),
        ],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "publishes: " in done.stdout
    assert done.stdout.count(" held\n") == 9
    assert "cut " in done.stdout
