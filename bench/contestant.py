"""The contestants: a broker process, and what it cost (CPU, memory, disk syncs).

Both keep their data in folders of one file system, which must not be tmpfs: there an fdatasync
costs nothing, and the comparison would say nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.session import Address
from mqkit.testing.rabbitmq import START_TIMEOUT_S
from mqkit.testing.rabbitmq_node import NodeFailed, server_script, start_node

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
STOP_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Contestant:
    """A running broker. Reads the kernel's own account of the process, all threads together."""

    name: str
    address: Address
    management_url: str
    pid: int

    def cpu_s(self) -> float:
        """User and system CPU seconds since the process began."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def rss_mib(self) -> float:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE_BYTES / 2**20

    def syncs(self) -> int:
        """fsync and fdatasync calls as the broker counts them (``io_sync_count`` of /api/nodes)."""
        answer = httpx.get(
            f"{self.management_url}/api/nodes",
            auth=(self.address.username, self.address.password),
            timeout=10,
        )
        # RabbitMQ leaves it out until its first statistics are in.
        return int(answer.raise_for_status().json()[0].get("io_sync_count", 0))


def file_system(folder: Path) -> str:
    """The type of the file system that holds ``folder`` (the longest mount point that fits)."""
    best, kind = "", "unknown"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        mount_point = left.split()[4]
        if folder.is_relative_to(mount_point) and len(mount_point) >= len(best):
            best, kind = mount_point, right.split()[0]
    return kind


@contextmanager
def reference_broker(folder: Path) -> Iterator[Contestant]:
    """``mqkit broker run`` on free ports, with its data in ``folder``."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "mqkit_cli", "broker", "run", "--data-dir", str(folder)),
            *("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        if not ready or ready[0] != "ready":
            raise RuntimeError("the reference broker did not start; its error is above")
        places = dict(part.split("=", 1) for part in ready[1:])
        host, _, port = places["amqp"].rpartition(":")
        yield Contestant(
            "mqkit reference broker",
            Address(host, int(port)),
            f"http://{places['http']}",
            process.pid,
        )
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def rabbitmq_server() -> Iterator[Contestant]:
    """A private RabbitMQ of this machine, with its data in the folder for temporary files.

    Raises :exc:`~mqkit.testing.rabbitmq_node.NodeFailed` when there is none to start.
    """
    script = server_script(os.environ)
    if script is None:
        raise NodeFailed("there is no rabbitmq-server on this machine")
    with start_node(script, timeout_s=START_TIMEOUT_S) as node:
        if node.beam_pid is None:
            raise NodeFailed("its Erlang VM was not found, so its CPU can't be measured")
        management_url = f"http://127.0.0.1:{node.management_port}"
        info = httpx.get(f"{management_url}/api/overview", auth=("guest", "guest"), timeout=10)
        yield Contestant(
            f"RabbitMQ {info.json()['rabbitmq_version']}",
            Address("127.0.0.1", node.amqp_port),
            management_url,
            node.beam_pid,
        )
