"""The broker of a run, and looks at it over its management API.

RabbitMQ's counts are old, and `mqkit topology migrate` waits until they can't be: with twice the
interval set here. A run with RabbitMQ's own 5 s takes ten times as long for the same kills.
"""

from __future__ import annotations

import base64
import json
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interop.migration.facts import Bindings
from mqkit_bench.server import Server, rabbitmq_server, reference_server

STATISTICS_EVERY_MS = 500
SETTLE_S = 1.5
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that is up. ``settle_s`` is the age that its counts can't have."""

    url: str
    management_url: str
    settle_s: float

    def arguments(self, queue: str) -> dict[str, Any]:
        """The arguments of a queue."""
        found = self._get(f"queues/%2F/{urllib.parse.quote(queue, safe='')}")["arguments"]
        assert isinstance(found, dict)
        return found

    def state(self, queue: str) -> str:
        """The counts of a queue, in words."""
        row = self._get(f"queues/%2F/{urllib.parse.quote(queue, safe='')}")
        counts = ("messages_ready", "messages_unacknowledged", "consumers")
        return ", ".join(f"{row.get(name)} {name}" for name in counts)

    def bindings(self, queue: str) -> Bindings:
        """The bindings of a queue, but for the default exchange's."""
        rows = self._get(f"queues/%2F/{urllib.parse.quote(queue, safe='')}/bindings")
        return frozenset((row["source"], row["routing_key"]) for row in rows if row["source"])

    def names(self) -> list[str]:
        """All queues and exchanges, and the ends of all bindings."""
        names = [
            row["name"] for kind in ("queues", "exchanges") for row in self._get(f"{kind}/%2F")
        ]
        ends = [row["destination"] for row in self._get("bindings/%2F") if row["source"]]
        return [*names, *ends]

    def _get(self, path: str) -> Any:
        request = urllib.request.Request(f"{self.management_url}/api/{path}")
        request.add_header("Authorization", f"Basic {base64.b64encode(b'guest:guest').decode()}")
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return json.load(answer)


@contextmanager
def started(name: str) -> Iterator[Broker]:
    """The broker of that name (``reference``, ``rabbitmq``) for the time of the block."""
    if name == "rabbitmq":
        with rabbitmq_server() as node:
            _count_often(node)
            yield _broker(node, SETTLE_S)
        return
    with (
        tempfile.TemporaryDirectory(prefix="mqkit-migration-") as folder,
        reference_server(Path(folder) / "data") as server,
    ):
        yield _broker(server, 0.5)


def _count_often(node: Server) -> None:
    configuration = Path(f"/proc/{node.contestant.pid}/cwd/rabbitmq.conf").resolve()
    with configuration.open("a") as lines:
        lines.write(f"collect_statistics_interval = {STATISTICS_EVERY_MS}\n")
    node.stop()
    node.start()


def _broker(server: Server, settle_s: float) -> Broker:
    address = server.contestant.address
    return Broker(
        f"amqp://guest:guest@{address.host}:{address.port}/",
        server.contestant.management_url,
        settle_s,
    )
