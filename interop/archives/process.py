"""One ``mqkit dlq`` process: its end, its words, its memory."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LOOK_AGAIN_S = 0.01
END_WITHIN_S = 1_800.0
TIMEOUT_S = 120.0
"""RabbitMQ confirms nothing while it takes a look's 100,000 messages back."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended. ``peak_kib`` is the most memory that it held (VmHWM)."""

    code: int
    is_killed: bool
    out: str
    err: str
    peak_kib: int
    seconds: float


def dlq(url: str, *arguments: str, kill_when: Callable[[], bool] | None = None) -> Ended:
    """Run ``mqkit dlq`` to its end, or kill it by SIGKILL once ``kill_when`` is true."""
    command = [sys.executable, "-m", "mqkit_cli", "dlq", *arguments, "--url", url]
    command += ["--timeout", f"{TIMEOUT_S:g}"]
    begun = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        try:
            peak = _watch(process, kill_when or (lambda: time.monotonic() - begun > END_WITHIN_S))
        finally:
            process.kill()
            process.wait()
        seconds = time.monotonic() - begun
        texts = [_text(out), _text(err)]
    is_killed = process.returncode == -signal.SIGKILL
    return Ended(process.returncode, is_killed, texts[0], texts[1], peak, seconds)


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode()


def _watch(process: subprocess.Popen[bytes], kill_when: Callable[[], bool]) -> int:
    """Return its peak when it has ended."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, _peak_kib(process.pid))
        if kill_when():
            process.kill()
            process.wait()
        time.sleep(LOOK_AGAIN_S)
    return peak


def _peak_kib(pid: int) -> int:
    """0 for a process that is ending."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
