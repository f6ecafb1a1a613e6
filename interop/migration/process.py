"""One process of ``mqkit topology migrate``: started, read line by line, killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from interop.migration.broker import Broker

END_WITHIN_S = 120.0
NOT_BEGUN = "starting"


class Process:
    """A thread reads its lines: the first word of each is the step that begins."""

    def __init__(self, broker: Broker, topology: Path, queue: str, *options: str) -> None:
        # With its own errors apart, and each line when it is written.
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "mqkit_cli", "topology", "migrate", queue),
                *("--file", str(topology), "--url", broker.url),
                *("--management-url", broker.management_url),
                *("--settle", f"{broker.settle_s:g}s", *options),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.step = NOT_BEGUN
        self.said = ""
        self._seen: set[str] = set()
        self._is_over = False
        self._changed = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def runs(self) -> bool:
        """False once it has gone."""
        return self._process.poll() is None

    def wait_for(self, step: str, within_s: float) -> bool:
        """True when ``step`` has begun; false if the process ends before, or the time does."""
        with self._changed:
            self._changed.wait_for(lambda: step in self._seen or self._is_over, within_s)
            return step in self._seen

    def wait_until_begun(self, within_s: float) -> None:
        """Return when a step has begun, or the process or the time has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._seen or self._is_over, within_s)

    def kill(self) -> str:
        """SIGKILL. Returns the step that was under way; empty if it had gone already."""
        had_gone = not self.runs
        self._process.kill()
        self._end()
        return "" if had_gone and self._process.returncode == 0 else self.step

    def end(self) -> int:
        """Wait until it is done; returns its exit code."""
        try:
            self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._end()
        return self._process.returncode

    def _end(self) -> None:
        self._process.wait()
        for reader in self._readers:
            reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.step = line.partition(" ")[0]
                self._seen.add(self.step)
                self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said += line
