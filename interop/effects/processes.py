"""The processes of a run: started, killed, started again; a broker whose port stays."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from interop.chaos.broker import started
from interop.effects.moments import IN_BETWEEN
from mqkit.testing.servers.free_ports import free_ports
from mqkit_bench.server import end_somehow

END_WITHIN_S = 30.0


class Program:
    """A Python program of the run's own. A thread reads its lines."""

    def __init__(self, name: str, words: Sequence[str]) -> None:
        self.name = name
        self.in_between = threading.Event()
        """Set at each of its moments (:mod:`interop.effects.moments`); clear it to wait for one."""
        self._command = [sys.executable, "-m", *words]
        self._start()

    @property
    def code(self) -> int | None:
        """The exit code; ``None`` while it runs."""
        return self._process.poll()

    def kill_and_start(self) -> None:
        """``kill -9``, and start it again."""
        self._process.kill()
        self._process.wait()
        self._start()

    def end(self) -> None:
        """End it, by force if it does not end by SIGTERM. Idempotent."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(END_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                if line.strip() == IN_BETWEEN:
                    self.in_between.set()


class Broker(Protocol):
    """A broker that can be killed, and is found at the same URL afterwards."""

    @property
    def url(self) -> str: ...

    def kill_and_start(self) -> None: ...


class _ReferenceBroker:
    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self.url = f"amqp://guest:guest@127.0.0.1:{port}/"
        self._start()

    def kill_and_start(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._start()

    def end(self) -> None:
        end_somehow(self._process)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "mqkit_cli", "broker", "run"),
                *("--listen", f"127.0.0.1:{self._port}", "--http", "127.0.0.1:0"),
                *("--data-dir", str(self._folder)),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline().split()[:1] != ["ready"]:
            self.end()
            raise RuntimeError("the reference broker did not start; its error is above")


@contextmanager
def running_broker(name: str) -> Iterator[Broker]:
    """The broker for the time of the block. Raises as :func:`interop.chaos.broker.started`."""
    if name == "rabbitmq":
        with started(name) as found:
            yield found
        return
    with TemporaryDirectory(prefix="mqkit-effects-") as folder:
        (port,) = free_ports(1)
        broker = _ReferenceBroker(Path(folder) / "data", port)
        try:
            yield broker
        finally:
            broker.end()
