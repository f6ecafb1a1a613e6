"""Facts: what was seen, one JSON object a line, each with the time of ``CLOCK_MONOTONIC``.

That clock is one for all processes of a machine, so facts of several programs can be compared.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

APPLICATION = "application.facts"
RUN = "run.facts"
REMAINS = "remains.facts"
"""The files of one run: what the app saw, what the run did and saw on the wire, and what was left
in the queues."""

STDERR = "application.stderr"

Fact = dict[str, Any]


class FactsFile:
    """Writes facts, for any thread. They reach the file at :meth:`flush`, at the end of the block,
    or when the buffer is full."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1 << 16)
        self._lock = threading.Lock()

    def write(self, fact: str, **values: object) -> None:
        """Write one fact, with the time of this call."""
        line = {"t": round(time.monotonic(), 6), "fact": fact, **values}
        text = json.dumps(line, separators=(",", ":")) + "\n"
        with self._lock:
            self._file.write(text)

    def flush(self) -> None:
        with self._lock:
            self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def read(path: Path) -> Iterator[Fact]:
    """The facts of a file, in its order; none where there is no file. A last line that was cut off
    is left out."""
    if not path.exists():
        return
    with path.open() as lines:
        for line in lines:
            if line.endswith("\n"):
                fact: Fact = json.loads(line)
                yield fact
