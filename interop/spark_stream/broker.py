"""The broker of a run: killed, and started again on its data and its port."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mqkit_bench.server import Server, end_somehow, rabbitmq_server


class Broker(Protocol):
    """The URLs stay the same after a kill."""

    @property
    def url(self) -> str: ...
    @property
    def management_url(self) -> str: ...
    def kill_and_start(self) -> None:
        """SIGKILL; return when it accepts connections again."""
        ...


class ReferenceBroker:
    """``mqkit broker run``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places = {"amqp": "127.0.0.1:0", "http": "127.0.0.1:0"}
        self._start()

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@{self._places['amqp']}/"

    @property
    def management_url(self) -> str:
        return f"http://{self._places['http']}"

    def kill_and_start(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._start()

    def end(self) -> None:
        """Idempotent."""
        end_somehow(self._process)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "mqkit_cli", "broker", "run"),
                *("--data-dir", str(self._folder)),
                *("--listen", self._places["amqp"], "--http", self._places["http"]),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        ready = self._process.stdout.readline().split()
        if ready[:1] != ["ready"]:
            self.end()
            raise RuntimeError("the reference broker did not start; its error is above")
        self._places = dict(part.split("=", 1) for part in ready[1:])


class RabbitMQ:
    """A private node; its ports are in its configuration."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def url(self) -> str:
        address = self._server.contestant.address
        return f"amqp://guest:guest@{address.host}:{address.port}/"

    @property
    def management_url(self) -> str:
        return self._server.contestant.management_url

    def kill_and_start(self) -> None:
        self._server.kill()
        self._server.start()


@contextmanager
def started(name: str) -> Iterator[Broker]:
    """``reference`` or ``rabbitmq`` for the time of the block, with its data in a folder of its
    own."""
    if name == "rabbitmq":
        with rabbitmq_server() as server:
            yield RabbitMQ(server)
        return
    with tempfile.TemporaryDirectory(prefix="mqkit-spark-stream-") as folder:
        broker = ReferenceBroker(Path(folder) / "data")
        try:
            yield broker
        finally:
            broker.end()
