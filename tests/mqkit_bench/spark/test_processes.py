"""mqkit_bench.spark.processes: the JVM and what is below it, told apart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqkit_bench.spark.processes import JVM, CpuSeconds, cpu_seconds, peak_worker_mib

BUSY = """
import os, sys, time
work = bytearray(30_000_000)
while time.process_time() < 0.3:
    pass
print("done", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_what_a_jvm_has_started_counts_as_python(tmp_path: Path) -> None:
    """A shell by the name of a JVM stands in for it: the kernel knows processes by their names."""
    jvm = tmp_path / JVM
    jvm.symlink_to("/bin/sh")
    script = f'"{sys.executable}" -c "$BUSY"; :'
    with subprocess.Popen(
        # Below a shell of its own, for another test may have left a real JVM below this process.
        ["/bin/sh", "-c", f"'{jvm}' -c '{script}'; :"],
        env={**os.environ, "BUSY": BUSY},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "done\n"
        seconds = cpu_seconds(below=process.pid)
        assert seconds.python >= 0.25
        assert seconds.jvm < 0.25
        assert peak_worker_mib(below=process.pid) > 30_000_000 / 2**20
        process.stdin.close()
    assert peak_worker_mib(below=process.pid) == 0


def test_a_process_that_ended_has_taken_its_account_along() -> None:
    before = CpuSeconds(1.0, 2.0, frozenset({1, 2}))
    assert CpuSeconds(1.0, 2.5, frozenset({1, 2, 3})).python_since(before) == 0.5
    assert CpuSeconds(1.0, 2.5, frozenset({1, 3})).python_since(before) is None
