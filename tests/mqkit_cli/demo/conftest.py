"""The demo as a process, with a small input of its own, and nothing of it left afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TIMEOUT_S = 60
RECORDS = 240

TOPOLOGY = """
exchanges:
  in: {type: topic}
queues:
  late:
    bind: [{from: in, key: "*.late"}]
    retry: {after: [50ms, 100ms], then: park}
  ontime:
    bind: [{from: in, key: "*.ontime"}]
    retry: {after: [50ms, 100ms], then: park}
"""


@dataclass
class DemoProcess:
    """``mqkit demo`` under way: its lines as they come, its exit code and stderr at the end."""

    process: subprocess.Popen[str]
    folder: Path
    lines: list[str] = field(default_factory=list)

    def read_until(self, word: str) -> str:
        """The next line that has ``word`` in it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if word in line:
                return line
        raise AssertionError(f"no line with {word!r} in {self.lines}: {self.finish()}")

    def finish(self) -> tuple[int, str]:
        """Wait for its end: the exit code, and stderr."""
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        self.lines += out.splitlines()
        return self.process.returncode, err

    @property
    def left_over(self) -> list[Path]:
        """Folders of runs that are still there."""
        return list(self.folder.glob("mqkit-demo-*"))


@pytest.fixture
def own_data(tmp_path: Path) -> tuple[Path, Path]:
    """A JSONL file and a topology."""
    records, topology = tmp_path / "mine.jsonl", tmp_path / "mine.yaml"
    ends = ("late", "ontime")
    records.write_text("".join(f'{{"n": {n}, "end": "{ends[n % 2]}"}}\n' for n in range(RECORDS)))
    topology.write_text(TOPOLOGY)
    return records, topology


@pytest.fixture
def start_demo(tmp_path: Path) -> Iterator[Callable[..., DemoProcess]]:
    """Starts demos whose temporary folders are in the test's own."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    started: list[DemoProcess] = []
    deadlines: list[threading.Timer] = []

    def start(*options: str, env: dict[str, str] | None = None) -> DemoProcess:
        # Where the tests run in the background of a shell, Ctrl-C is ignored, and children inherit
        # that; what is handled here has its default there.
        inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "mqkit_cli", "demo", *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "TMPDIR": str(scratch), **(env or {})},
            )
        finally:
            signal.signal(signal.SIGINT, inherited)
        started.append(DemoProcess(process, scratch))
        # A demo that hangs must end the test, not the other way round; SIGTERM lets it clean up.
        deadlines.append(threading.Timer(TIMEOUT_S, process.terminate))
        deadlines[-1].start()
        return started[-1]

    yield start
    for timer in deadlines:
        timer.cancel()
    for demo in started:
        if demo.process.poll() is None:
            demo.process.terminate()
        demo.process.communicate(timeout=TIMEOUT_S)
