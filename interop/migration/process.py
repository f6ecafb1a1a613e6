"""One process of ``mqkit topology migrate``: started, read line by line, killed.

It is forked from a server that has loaded the command line already, and runs its main function:
most of what a start costs is loading, and a run is a start for each kill.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from interop.migration.broker import Broker

END_WITHIN_S = 180.0
NOT_BEGUN = "starting"
STDOUT, STDERR = 1, 2

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["interop.migration.process", "mqkit_cli.__main__", "mqkit.topology.migration.run", "httpx"]
)


def _mqkit(stdout: Connection, stderr: Connection, arguments: list[str]) -> None:
    """The command as a person runs it, with these ends of pipes for its output."""
    from mqkit_cli.__main__ import main

    os.dup2(stdout.fileno(), STDOUT)
    os.dup2(stderr.fileno(), STDERR)
    stdout.close()
    stderr.close()
    sys.argv = ["mqkit", *arguments]
    main()


class Process:
    """A thread reads its lines: the first word of each is the step that begins."""

    def __init__(self, broker: Broker, topology: Path, queue: str, *options: str) -> None:
        reads, stdout = _FORKS.Pipe(duplex=False)
        reads_errors, stderr = _FORKS.Pipe(duplex=False)
        arguments = [
            *("topology", "migrate", queue, "--file", str(topology)),
            *("--url", broker.url, "--management-url", broker.management_url),
            *("--settle", f"{broker.settle_s:g}s", "--timeout", "30", *options),
        ]
        self._process = _FORKS.Process(target=_mqkit, args=(stdout, stderr, arguments))
        self._process.start()
        stdout.close()
        stderr.close()
        self.step = NOT_BEGUN
        self.said = ""
        self._seen: set[str] = set()
        self._is_over = False
        self._changed = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=(reads,), daemon=True),
            threading.Thread(target=self._read_errors, args=(reads_errors,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def runs(self) -> bool:
        """False once it has gone."""
        return self._process.is_alive()

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
        return "" if had_gone and self._process.exitcode == 0 else self.step

    def end(self) -> int:
        """Wait until it is done; returns its exit code."""
        self._process.join(END_WITHIN_S)
        if self.runs:
            self._process.kill()
        self._end()
        code = self._process.exitcode
        assert code is not None
        return code

    def _end(self) -> None:
        self._process.join()
        for reader in self._readers:
            reader.join()

    def _read(self, stdout: Connection) -> None:
        with os.fdopen(os.dup(stdout.fileno())) as lines:
            stdout.close()
            for line in lines:
                with self._changed:
                    self.step = line.partition(" ")[0]
                    self._seen.add(self.step)
                    self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _read_errors(self, stderr: Connection) -> None:
        with os.fdopen(os.dup(stderr.fileno())) as lines:
            stderr.close()
            for line in lines:
                self.said += line
