"""The two brokers of a comparison, both started for it, both on free ports of 127.0.0.1."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.server import reference_server
from mqkit.testing import rabbitmq
from mqkit.transport.seam import Credentials, Endpoint
from mqkit.url import parse


@dataclass(frozen=True, slots=True)
class Brokers:
    """RabbitMQ is ``there``, the reference broker is ``here``."""

    there: Endpoint
    here: Endpoint


@contextmanager
def both_brokers() -> Iterator[Brokers]:
    """Both for the time of the block, with data folders of their own.

    Raises :exc:`~mqkit.testing.RabbitMQUnavailable` when there is no RabbitMQ to be had, and
    ``RuntimeError`` when the reference broker doesn't start.
    """
    with (
        rabbitmq() as found,
        tempfile.TemporaryDirectory(prefix="mqkit-interop-") as folder,
        reference_server(Path(folder) / "data") as server,
    ):
        address = server.contestant.address
        credentials = Credentials(address.username, address.password)
        here = Endpoint(host=address.host, port=address.port, credentials=credentials)
        yield Brokers(parse(found.url), here)
