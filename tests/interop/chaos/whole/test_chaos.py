"""A short run for each transport against the reference broker, with faults that take no time.

The laws that are about time hold on a machine of one's own, and are for `make chaos`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interop.chaos.checker import calls, messages, recovery

ROOT = Path(__file__).parents[4]
SECONDS = 12
SEED = 14
OF_TIME = (messages.IN_TIME, calls.IN_TIME, recovery.GOES_ON)
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
    said = done.stdout + done.stderr
    verdicts = [line for line in done.stdout.splitlines() if " judged " in line]
    assert len(verdicts) == 9, said
    for verdict in verdicts:
        if not verdict.startswith(OF_TIME):
            assert verdict.endswith(" held"), said
            assert " 0 judged" not in verdict or "refused" in verdict, said
    assert "cut " in done.stdout
