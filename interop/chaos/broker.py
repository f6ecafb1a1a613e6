"""The broker of a run, as a process: ended, killed, started again on its data, put under an alarm.

RabbitMQ has no HTTP path for its watermarks, so its own ``rabbitmqctl`` sets them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from interop.chaos.management import Management
from mqkit.testing.rabbitmq_node import server_script
from mqkit_bench.server import Server, rabbitmq_server, reference_server

BROKERS = ("reference", "rabbitmq")
MEMORY_FRACTION = 0.4
DISK_LIMIT_BYTES = 50_000_000
"""Both brokers' own limits."""
DISK_LIMIT_ALARMING_BYTES = 1 << 60
CTL_TIMEOUT_S = 60


class Limits(Protocol):
    """Sets the limits that an alarm is about."""

    def set_memory(self, fraction: float) -> None:
        """The memory alarm is on above this fraction of the machine's memory."""

    def set_disk(self, limit_bytes: int) -> None:
        """The disk alarm is on while less is free."""


class Broker:
    """Call from a thread that may wait. A restart may change :attr:`address`."""

    def __init__(self, server: Server, limits: Limits) -> None:
        self._server = server
        self._limits = limits

    @property
    def address(self) -> tuple[str, int]:
        """The host and port of AMQP."""
        address = self._server.contestant.address
        return address.host, address.port

    @property
    def url(self) -> str:
        """The AMQP URL that leads to it, and not through a proxy."""
        return "amqp://guest:guest@{}:{}/".format(*self.address)

    @property
    def management(self) -> Management:
        """Its HTTP API."""
        return Management(self._server.contestant.management_url)

    def kill_and_start(self) -> None:
        self._server.kill()
        self._server.start()

    def stop_and_start(self) -> None:
        self._server.stop()
        self._server.start()

    def set_memory_alarm(self, *, on: bool) -> None:
        self._limits.set_memory(0.0 if on else MEMORY_FRACTION)

    def set_disk_alarm(self, *, on: bool) -> None:
        self._limits.set_disk(DISK_LIMIT_ALARMING_BYTES if on else DISK_LIMIT_BYTES)


class _OverHttp:
    """The reference broker's limits."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def set_memory(self, fraction: float) -> None:
        self._put("vm-memory-high-watermark", {"relative": fraction})

    def set_disk(self, limit_bytes: int) -> None:
        self._put("disk-free-limit", {"absolute": limit_bytes})

    def _put(self, limit: str, document: dict[str, float]) -> None:
        management = Management(self._server.contestant.management_url)
        management.put(f"nodes/{management.node}/{limit}", document)


class _OverRabbitmqctl:
    """RabbitMQ's limits, by ``rabbitmqctl`` in the environment of the node, as its user."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def set_memory(self, fraction: float) -> None:
        self._run("set_vm_memory_high_watermark", str(fraction))

    def set_disk(self, limit_bytes: int) -> None:
        self._run("set_disk_free_limit", str(limit_bytes))

    def _run(self, *arguments: str) -> None:
        script = server_script(os.environ)
        assert script is not None
        process = Path(f"/proc/{self._server.contestant.pid}")
        listing = (process / "environ").read_text().split("\0")
        owner = process.stat()
        user, group = (None, None) if os.geteuid() else (owner.st_uid, owner.st_gid)
        subprocess.run(
            [Path(script).with_name("rabbitmqctl"), "--quiet", *arguments],
            env=dict(line.split("=", 1) for line in listing if "=" in line),
            cwd="/",
            stdout=subprocess.DEVNULL,
            timeout=CTL_TIMEOUT_S,
            check=True,
            user=user,
            group=group,
            extra_groups=None if user is None else [],
        )


@contextmanager
def started(name: str) -> Iterator[Broker]:
    """The broker of that name (see :data:`BROKERS`) for the time of the block, with its data in a
    folder of its own. Raises ``RuntimeError`` when it doesn't start, and
    :exc:`~mqkit.testing.rabbitmq_node.NodeFailed` where there is no RabbitMQ on this machine."""
    with ExitStack() as stack:
        if name == "rabbitmq":
            node = stack.enter_context(rabbitmq_server())
            yield Broker(node, _OverRabbitmqctl(node))
            return
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mqkit-chaos-"))
        server = stack.enter_context(reference_server(Path(folder) / "data"))
        yield Broker(server, _OverHttp(server))
