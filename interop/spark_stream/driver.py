"""The driver of the query, as a process that can be killed and started again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from interop.spark_stream.processes import Found, kill, of_session, python_workers

END_WITHIN_S = 90.0
RUN_WITHIN_S = 300.0


class Driver:
    """``interop.spark_stream.query``. It is running from the first :meth:`start` on."""

    def __init__(self, folder: Path, given: dict[str, Any]) -> None:
        self._log = folder / "driver.log"
        self._given = folder / "query.json"
        self._given.write_text(json.dumps(given))
        self._process: subprocess.Popen[bytes] | None = None
        self._sessions: list[int] = []
        self.starts = 0

    def start(self, *arguments: str) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "interop.spark_stream.query"),
                    *(str(self._given), *arguments),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._sessions.append(self._process.pid)
        self.starts += 1

    def has_ended(self) -> bool:
        """True for one that failed, or was killed."""
        return self._running.poll() is not None

    def kill(self) -> None:
        """SIGKILL for the program and its Java. Its Python workers are left to notice."""
        for each in of_session(self._running.pid):
            if each.is_java:
                kill(each.pid)
        self._running.kill()
        self._running.wait()

    def python_workers(self) -> list[Found]:
        """Its own: those of local tasks, and the one that plans."""
        return python_workers(self._running.pid)

    def end(self) -> None:
        """SIGTERM, and wait; SIGKILL for what is left of all starts."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(END_WITHIN_S)
            except subprocess.TimeoutExpired:
                self.kill()
        for session in self._sessions:
            for each in of_session(session):
                kill(each.pid)

    def run(self, *arguments: str) -> int:
        """Start it, and wait for its end: the exit code."""
        self.start(*arguments)
        return self._running.wait(RUN_WITHIN_S)

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process
