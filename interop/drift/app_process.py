"""The app as a process, and what it has told, with the time at which it was read."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

END_WITHIN_S = 30.0


class AppFailed(Exception):
    """The app did not start, or did not live; its stderr is above."""


@dataclass(frozen=True, slots=True)
class Told:
    """One line of the app. ``at_s`` is monotonic."""

    at_s: float
    row: dict[str, Any]

    @property
    def what(self) -> tuple[str, str, str, str]:
        """Kind, kind of object, name, field."""
        row = self.row
        return row["kind"], row["object_kind"], row["name"], row["field"]

    @property
    def is_over(self) -> bool:
        return bool(self.row["is_over"])


class AppProcess:
    """A context manager: it is ready in the block."""

    def __init__(
        self,
        url: str,
        management_url: str | None,
        folder: Path,
        *,
        transport: str,
        every_s: float,
    ) -> None:
        self._command = [
            *(sys.executable, "-m", "interop.drift.application", "--url", url),
            *("--folder", str(folder), "--transport", transport, "--every", str(every_s)),
            *(() if management_url is None else ("--management-url", management_url)),
        ]
        self._told: list[Told] = []
        self._changed = threading.Condition()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> AppProcess:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            self._process.kill()
            raise AppFailed("the app did not start; its error is above")
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(END_WITHIN_S)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    @property
    def told(self) -> tuple[Told, ...]:
        """Everything so far."""
        with self._changed:
            return tuple(self._told)

    def wait(self, is_enough: Callable[[tuple[Told, ...]], bool], until_s: float) -> bool:
        """Return true when ``is_enough`` of what was told, false at the moment ``until_s``."""
        with self._changed:
            while not is_enough(tuple(self._told)):
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    return False
                self._changed.wait(left_s)
            return True

    def check(self) -> None:
        """Raises :exc:`AppFailed` if the app has ended."""
        assert self._process is not None
        if self._process.poll() is not None:
            raise AppFailed(f"the app ended with {self._process.returncode}; its error is above")

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            told = Told(time.monotonic(), json.loads(line))
            with self._changed:
                self._told.append(told)
                self._changed.notify_all()
