"""One of the processes that run the lots: started, read line by line, killed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

END_WITHIN_S = 60.0
ENDS = {"sending": "returned", "archiving": "archived"}
"""A window that is begun, and the line that says that it is ended."""


class Leader:
    """``mqkit lots run --json``. A thread reads its lines."""

    def __init__(self, topology: Path, url: str) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "mqkit_cli", "lots", "run"),
                *("--file", str(topology), "--url", url, "--json"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.is_leading = False
        self.has_begun = threading.Event()
        """Set with each window that is begun; clear it to wait for the next."""
        self._has_spoken = threading.Event()
        self.returned = self.archived = 0
        self._open: dict[str, list[str]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def runs(self) -> bool:
        """False once it has gone, for whatever reason."""
        return self._process.poll() is None

    def kill(self) -> Counter[str]:
        """Kill it; returns the ids of the windows that were under way."""
        self._process.kill()
        self._process.wait()
        return self._under_way()

    def end(self) -> tuple[int, Counter[str]]:
        """Have it end by SIGTERM; returns its exit code, and what it left under way. One that is
        still starting would not know the signal."""
        self._has_spoken.wait(END_WITHIN_S)
        self._process.terminate()
        try:
            code = self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return code, self._under_way()

    def _under_way(self) -> Counter[str]:
        self._reader.join(END_WITHIN_S)
        return Counter(each for ids in self._open.values() for each in ids)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            try:
                said = json.loads(text)
            except ValueError:  # a line that the kill has cut short
                continue
            self._take(said)

    def _take(self, said: dict[str, object]) -> None:
        self._has_spoken.set()
        match said["event"]:
            case "leading":
                self.is_leading = True
            case "waiting":
                self.is_leading = False
            case "sending" | "archiving" as begun:
                ids = said["ids"]
                assert isinstance(ids, list)
                self._open[ENDS[begun]] = ids
                self.has_begun.set()
            case "returned" | "archived" as ended:
                self._open.pop(ended, None)
                count = said["count"]
                assert isinstance(count, int)
                if ended == "returned":
                    self.returned += count
                else:
                    self.archived += count
