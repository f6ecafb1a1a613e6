"""The two brokers of a comparison, both started for it, both on free ports of 127.0.0.1.

``cluster`` is ours as two nodes, with the clients at one and the queues at the other.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interop.elsewhere.cluster import CLIENTS, queues_elsewhere
from mqkit.testing import rabbitmq
from mqkit.testing.rabbitmq import MANAGEMENT_URL_VARIABLE
from mqkit.testing.servers.free_ports import HOST
from mqkit.transport.seam import Endpoint
from mqkit.url import parse
from mqkit_bench.server import end_somehow

MESSAGE_SIZE_MAX = "128MiB"
"""RabbitMQ 3.10's largest message; the reference broker takes as much as RabbitMQ 4 unless it is
told."""


@dataclass(frozen=True, slots=True)
class Broker:
    """One of the two brokers. ``management_url`` is its HTTP API (``http://host:port``)."""

    endpoint: Endpoint
    management_url: str


@dataclass(frozen=True, slots=True)
class Brokers:
    """RabbitMQ is ``there``, the reference broker is ``here``."""

    there: Broker
    here: Broker


@contextmanager
def both_brokers(ours: Literal["reference", "cluster"] = "reference") -> Iterator[Brokers]:
    """The two brokers for the time of the block, with data folders of their own.

    Raises :exc:`~mqkit.testing.RabbitMQUnavailable` when there is no RabbitMQ to be had,
    :exc:`~mqkit.testing.ClusterUnavailable` when there is no etcd, and ``RuntimeError`` when the
    reference broker doesn't start.
    """
    with one_broker("rabbitmq") as there, one_broker(ours) as here:
        yield Brokers(there, here)


@contextmanager
def one_broker(name: Literal["reference", "cluster", "rabbitmq"]) -> Iterator[Broker]:
    """One of them. Raises as :func:`both_brokers`."""
    if name == "reference":
        with _reference_broker() as here:
            yield here
        return
    if name == "cluster":
        with queues_elsewhere(("--message-size-max", MESSAGE_SIZE_MAX)) as nodes:
            node = nodes[CLIENTS]
            yield Broker(parse(node.url), f"http://{HOST}:{node.management_port}")
        return
    with rabbitmq() as found:
        if found.management_url is None:
            raise RuntimeError(f"{MANAGEMENT_URL_VARIABLE} does not say where its HTTP API is")
        yield Broker(parse(found.url), found.management_url)


@contextmanager
def _reference_broker() -> Iterator[Broker]:
    command = [
        *(
            sys.executable,
            "-m",
            "mqkit_cli",
            "broker",
            "run",
            "--message-size-max",
            MESSAGE_SIZE_MAX,
        ),
        *("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"),
    ]
    with tempfile.TemporaryDirectory(prefix="mqkit-interop-") as folder:
        process = subprocess.Popen(
            [*command, "--data-dir", str(Path(folder) / "data")], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            ready = process.stdout.readline().split()
            if ready[:1] != ["ready"]:
                raise RuntimeError("the reference broker did not start; its error is above")
            places = dict(part.split("=", 1) for part in ready[1:])
            yield Broker(parse(f"amqp://{places['amqp']}/"), f"http://{places['http']}")
        finally:
            end_somehow(process)
            if process.stdout is not None:
                process.stdout.close()
