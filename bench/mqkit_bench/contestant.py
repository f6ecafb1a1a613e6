"""A contestant: a running broker, and what it costs (CPU, memory, disk) and holds (messages)."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from mqkit_bench.report import Discrepancy
from mqkit_bench.session import Address

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
HTTP_TIMEOUT_S = 60.0
COUNT_TIMEOUT_S = 60.0
"""RabbitMQ's management plugin shows counts that are seconds old."""
COUNT_INTERVAL_S = 0.25
ALARMS = {"mem_alarm": "memory", "disk_free_alarm": "disk"}


@dataclass(frozen=True, slots=True)
class Counts:
    """Messages over some queues, as the management API has them."""

    ready: int
    unacked: int

    def __str__(self) -> str:
        return f"{self.ready:,} ready and {self.unacked:,} unacked"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A running broker. Reads the kernel's own account of the process, all threads together."""

    name: str
    address: Address
    management_url: str
    pid: int
    amqps_port: int | None = None
    """The port on the same host where it speaks TLS."""

    def cpu_s(self) -> float:
        """User and system CPU seconds since the process began."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def core_wait_s(self) -> float:
        """Seconds that its threads were ready to run and had no core, since they began: what others
        on the machine took from it."""
        waited_ns = 0
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            try:
                waited_ns += int((thread / "schedstat").read_text().split()[1])
            except FileNotFoundError:  # it has ended, or the kernel keeps no account
                continue
        return waited_ns / 1e9

    def rss_mib(self) -> float:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE_BYTES / 2**20

    def disk_read_mib(self) -> float:
        """MiB that the process had to fetch from the disk, the page cache left aside."""
        lines = Path(f"/proc/{self.pid}/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["read_bytes"]) / 2**20

    def syncs(self) -> int:
        """fsync and fdatasync calls as the broker counts them (``io_sync_count`` of /api/nodes)."""
        # RabbitMQ leaves it out until its first statistics are in.
        return int(self._get("/api/nodes")[0].get("io_sync_count", 0))

    def alarms(self) -> list[str]:
        """The resource alarms that are on."""
        node = self._get("/api/nodes")[0]
        return [alarm for key, alarm in ALARMS.items() if node.get(key)]

    def counts(self, queues: Collection[str]) -> Counts | None:
        """Ready and unacked messages of these queues; ``None`` while one of them has no statistics
        yet."""
        columns = "name,messages_ready,messages_unacknowledged"
        rows = self._get(f"/api/queues?columns={columns}")
        wanted = frozenset(queues)
        rows = [row for row in rows if row["name"] in wanted]
        if len(rows) != len(wanted) or any("messages_ready" not in row for row in rows):
            return None
        return Counts(
            sum(row["messages_ready"] for row in rows),
            sum(row["messages_unacknowledged"] for row in rows),
        )

    def resident_share(self, queue: str) -> float | None:
        """The part of a queue's messages that is in memory; ``None`` if the broker doesn't say."""
        columns = "name,messages,messages_ram"
        for row in self._get(f"/api/queues?columns={columns}"):
            if row["name"] == queue and "messages_ram" in row and row.get("messages"):
                return float(row["messages_ram"] / row["messages"])
        return None

    def expect(self, queues: Collection[str], expected: Counts) -> None:
        """Wait until these queues hold exactly this. Raises :exc:`Discrepancy` if they never do."""
        deadline = time.monotonic() + COUNT_TIMEOUT_S
        while (found := self.counts(queues)) != expected:
            if time.monotonic() > deadline:
                raise Discrepancy(f"{self.name} should hold {expected}; it holds {found}")
            time.sleep(COUNT_INTERVAL_S)

    def _get(self, path: str) -> Any:
        answer = httpx.get(
            self.management_url + path,
            auth=(self.address.username, self.address.password),
            timeout=HTTP_TIMEOUT_S,
            trust_env=False,  # a proxy does not lead to this machine
        )
        return answer.raise_for_status().json()
