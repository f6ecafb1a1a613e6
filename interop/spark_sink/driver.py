"""The process of a driver program, in a session of its own, so that all that it starts is found:
Spark's JVM stays in its process group, Spark's Python workers make one of their own."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from interop.spark_cluster import LOOK_AGAIN_S, until

ROOT = Path(__file__).parents[2]
START_WITHIN_S = 180.0
END_WITHIN_S = 60.0
LOG_SHOWN_CHARACTERS = 4_000


class DriverFailed(RuntimeError):
    """The program ended by itself; the end of its log is in the message."""


def environment() -> dict[str, str]:
    """Spark's Python workers shall be this Python, with this package."""
    paths = (os.environ.get("PYTHONPATH", ""), str(ROOT))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


class Driver:
    """Call :meth:`end` or :meth:`kill`, and :meth:`leave_nothing` before its queues are read."""

    def __init__(self, module: str, *arguments: str, log: Path) -> None:
        self.log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
                cwd=log.parent,
            )
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, question: dict[str, Any]) -> None:
        """Write a line to the program; its :meth:`answer` comes later."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()

    def answer(self, within_s: float = LOOK_AGAIN_S) -> dict[str, Any] | None:
        """The program's next line; ``None`` while there is none. Raises :exc:`DriverFailed` when
        the program has gone."""
        try:
            found = self._answers.get(timeout=within_s)
        except queue.Empty:
            return None
        if found is None:
            self._answers.put(None)
            words = self.log.read_text(errors="replace")[-LOG_SHOWN_CHARACTERS:]
            raise DriverFailed(f"the driver ended with {self._process.wait()}: {words}")
        return found

    def pids(self) -> list[int]:
        """All processes of its session that run."""
        return [pid for pid in _all_pids() if _session_of(pid) == self._process.pid]

    def kill(self) -> None:
        """SIGKILL to its process group: the program and Spark's JVM."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        """Let the program end by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def leave_nothing(self) -> None:
        """Wait for the Python workers that a dead driver has left; kill those that stay."""
        if self._process.poll() is None:
            self.kill()
        if not until(lambda: not self.pids(), END_WITHIN_S):
            for pid in self.pids():
                os.kill(pid, signal.SIGKILL)
            until(lambda: not self.pids(), END_WITHIN_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._answers.put(json.loads(line))
        self._answers.put(None)


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _session_of(pid: int) -> int | None:
    """``None`` for a process that has gone, or is a zombie."""
    try:
        # The command in parentheses may hold anything; state, parent, group, session follow it.
        state, _, _, session = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]
    except OSError:
        return None
    return None if state == "Z" else int(session)
