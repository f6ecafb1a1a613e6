"""A standalone cluster of Spark on 127.0.0.1: one master, two workers with a core each."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from interop.spark_stream.processes import Found, kill, of_session, python_workers
from mqkit.testing.servers.free_ports import free_ports

WORKERS = 2
MEMORY = "512m"
UP_WITHIN_S = 90.0
LOOK_AGAIN_S = 0.2


class Cluster:
    """Get one from :func:`started`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = free_ports(2 + 2 * WORKERS)
        self._master = self._spawn(
            "master",
            "org.apache.spark.deploy.master.Master",
            *("--host", "127.0.0.1", "--port", str(self._ports[0])),
            *("--webui-port", str(self._ports[1])),
        )
        self._workers: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        """The master, for Spark."""
        return f"spark://127.0.0.1:{self._ports[0]}"

    def start_workers(self) -> None:
        """Return when the master and the workers have said that they are up."""
        self._wait("master", "I have been elected leader", 1)
        for index in range(WORKERS):
            self._workers.append(self._start_worker(index))
        for index in range(WORKERS):
            self._wait(f"worker-{index}", "Successfully registered with master", 1)

    def python_workers(self) -> list[Found]:
        """Those of all executors."""
        return [each for worker in self._workers for each in python_workers(worker.pid)]

    def kill_worker(self, index: int) -> None:
        """A whole worker with its executor, and start it again."""
        self._end(self._workers[index])
        self._workers[index] = self._start_worker(index)

    def end(self) -> None:
        for process in [*self._workers, self._master]:
            self._end(process)

    def _start_worker(self, index: int) -> subprocess.Popen[bytes]:
        port, web = self._ports[2 + 2 * index : 4 + 2 * index]
        return self._spawn(
            f"worker-{index}",
            "org.apache.spark.deploy.worker.Worker",
            *("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(web)),
            *("--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / f"work-{index}")),
            self.url,
        )

    def _spawn(self, name: str, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        with self._log(name).open("ab") as log:
            return subprocess.Popen(
                [str(home / "bin" / "spark-class"), kind, *arguments],
                env={
                    **os.environ,
                    "SPARK_HOME": str(home),
                    "SPARK_DAEMON_MEMORY": MEMORY,
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "PYSPARK_PYTHON": sys.executable,
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait(self, name: str, words: str, times: int) -> None:
        deadline = time.monotonic() + UP_WITHIN_S
        while self._log(name).read_text(errors="replace").count(words) < times:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} of the cluster did not start: {self._log(name)}")
            time.sleep(LOOK_AGAIN_S)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        for each in of_session(process.pid):
            kill(each.pid)
        process.wait()


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    """A cluster for the time of the block."""
    folder.mkdir()
    cluster = Cluster(folder)
    try:
        cluster.start_workers()
        yield cluster
    finally:
        cluster.end()
