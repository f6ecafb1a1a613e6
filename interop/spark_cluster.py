"""A standalone Spark cluster on this machine: a master and workers, processes of whoever asks.

Local mode neither speculates nor has executors of its own; this has both. PySpark brings all that
it needs. Each worker has an address of its own in 127.0.0.0/8 (of which all belongs to the loopback
interface on Linux), for Spark starts no speculative attempt on the host of the first one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from mqkit_bench.server import end_somehow

START_WITHIN_S = 300.0
"""Some seconds on a machine that has nothing else to do."""
LOOK_AGAIN_S = 0.1
WORKERS = 2
WORKER_CORES = 1
WORKER_MEMORY = "512m"
"""The smallest executor that Spark takes has 450 MiB."""
DAEMON_MEMORY = "256m"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
MASTER_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
WORKER_STARTED = re.compile(r"Successfully registered with master")
LOG_SHOWN_CHARACTERS = 2_000


class ClusterFailed(RuntimeError):
    """The cluster did not start; the end of the log is in the message."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster. ``workers`` are their processes, in the order of their addresses
    (127.0.0.1, 127.0.0.2 ...); whoever kills one finds it here."""

    url: str
    workers: tuple[subprocess.Popen[bytes], ...]


@contextmanager
def started_cluster(workers: int = WORKERS) -> Iterator[Cluster]:
    """A master and workers of one core each, for the time of the block; all folders go with it.

    Give :attr:`Cluster.url` as ``spark.master``, and executors :data:`WORKER_MEMORY` at most.
    Raises :exc:`ClusterFailed`.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mqkit-cluster-")))
        master = stack.enter_context(_daemon(folder, "master", _address(1), MASTER))
        url = _said(master, folder / "master.log", MASTER_STARTED)[1]
        size = ("--cores", str(WORKER_CORES), "--memory", WORKER_MEMORY)
        started: dict[str, subprocess.Popen[bytes]] = {}
        for number in range(1, workers + 1):
            name = f"worker-{number}"
            arguments = ("--work-dir", str(folder / name), *size, url)
            daemon = _daemon(folder, name, _address(number), WORKER, *arguments)
            started[name] = stack.enter_context(daemon)
        for name, process in started.items():
            _said(process, folder / f"{name}.log", WORKER_STARTED)
        yield Cluster(url, tuple(started.values()))


def _address(number: int) -> str:
    return f"127.0.0.{number}"


@contextmanager
def _daemon(
    folder: Path, name: str, address: str, main_class: str, *arguments: str
) -> Iterator[subprocess.Popen[bytes]]:
    """At that address alone, on free ports."""
    home = Path(pyspark.__file__).parent
    (folder / name).mkdir()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": address,
        "SPARK_DAEMON_MEMORY": DAEMON_MEMORY,
        "SPARK_LOCAL_DIRS": str(folder / name),
        "PYSPARK_PYTHON": sys.executable,
    }
    place = ("--host", address, "--port", "0", "--webui-port", "0")
    with (folder / f"{name}.log").open("wb") as log:
        # spark-class replaces itself by the JVM, so the process is the daemon.
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), main_class, *place, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        end_somehow(process)


def _said(process: subprocess.Popen[bytes], log: Path, words: re.Pattern[str]) -> re.Match[str]:
    """The line in the daemon's log that says that it runs."""
    found: list[re.Match[str]] = []

    def look() -> bool:
        match = words.search(log.read_text(errors="replace"))
        if match:
            found.append(match)
        return bool(found) or process.poll() is not None

    until(look, START_WITHIN_S)
    if not found:
        raise ClusterFailed(
            f"{log.stem}: {log.read_text(errors='replace')[-LOG_SHOWN_CHARACTERS:]}"
        )
    return found[0]


def until(is_so: Callable[[], bool], within_s: float) -> bool:
    """Wait until it is so; ``False`` when the time is over."""
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_AGAIN_S)
    return True
