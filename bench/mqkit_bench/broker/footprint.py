"""``footprint``: the memory of an idle broker, and what ten thousand queues, a thousand connections
and fifty thousand consumers add to it. What they add to the cost of a message, ``growth`` tells.

Queues are added to one new broker and connections to another: memory that was once taken does not
come back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass

import typer

from mqkit.wire import methods
from mqkit_bench.broker.command import WithRabbitMQ
from mqkit_bench.broker.entrant import allow_many_connections
from mqkit_bench.broker.families import QUEUE, consumer_crowd
from mqkit_bench.broker.stage import consume
from mqkit_bench.broker.topology import SETUP_TIMEOUT_S, Queue, Topology
from mqkit_bench.contestant import Contestant
from mqkit_bench.data_folder import data_folder
from mqkit_bench.report import JsonFile, markdown, say, write_json
from mqkit_bench.server import rabbitmq_server, reference_server
from mqkit_bench.session import Session

HEADER = ("broker", "what", "count", "RSS before", "RSS more", "each")

Broker = Callable[[], AbstractContextManager[Contestant]]
"""A new one, for the time of the block."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of objects added. Memory is read when a broker was left alone for
    ``settle_s``."""

    queues: int
    connections: int
    consumers: int
    settle_s: float


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resident memory that added objects cost a broker."""

    name: str
    what: str
    count: int
    rss_before_mib: float
    rss_after_mib: float

    @property
    def more_mib(self) -> float:
        return self.rss_after_mib - self.rss_before_mib


class _Scales:
    """Reads a broker's memory before and after something is added to it."""

    def __init__(self, contestant: Contestant, settle_s: float) -> None:
        self.footprints: list[Footprint] = []
        self._contestant = contestant
        self._settle_s = settle_s
        self._weight = 0.0

    def weigh(self, what: str, count: int) -> None:
        """Record the memory added since the last call."""
        time.sleep(self._settle_s)
        before, self._weight = self._weight, self._contestant.rss_mib()
        found = Footprint(self._contestant.name, what, count, before, self._weight)
        say(f"{found.name}: {count:,} {what}: {found.more_mib:,.1f} MiB more")
        self.footprints.append(found)


def measure(broker: Broker, sizes: Sizes) -> list[Footprint]:
    """The idle broker first, then each addition.

    Raises :exc:`ConnectionError` when the broker refuses one.
    """
    with broker() as contestant:
        footprints = _queues(contestant, sizes)
    with broker() as contestant:
        return footprints + _consumers(contestant, sizes)


def _queues(contestant: Contestant, sizes: Sizes) -> list[Footprint]:
    scales = _Scales(contestant, sizes.settle_s)
    scales.weigh("broker, idle", 1)
    with closing(Session(contestant.address, SETUP_TIMEOUT_S)) as control:
        _topology(sizes.queues).declare(control)
        scales.weigh("durable queues", sizes.queues)
    return scales.footprints


def _consumers(contestant: Contestant, sizes: Sizes) -> list[Footprint]:
    """Consumers on connections, with a queue for each connection to consume from."""
    crowd = consumer_crowd(sizes.consumers, sizes.connections)
    with ExitStack() as stack:
        control = stack.enter_context(closing(Session(contestant.address, SETUP_TIMEOUT_S)))
        _topology(len(crowd)).declare(control)
        scales = _Scales(contestant, sizes.settle_s)
        scales.weigh("broker with a queue for each connection", 1)
        sessions = [stack.enter_context(closing(Session(contestant.address))) for _ in crowd]
        scales.weigh("connections with a channel", len(crowd))
        for session, subscription in zip(sessions, crowd, strict=True):
            consume(session, subscription)
            session.call(1, methods.BasicQos(), methods.BasicQosOk)  # they are there now
        scales.weigh("consumers", sum(len(each.consumer_tags) for each in crowd))
    return scales.footprints[1:]


def _topology(queues: int) -> Topology:
    return Topology(tuple(Queue(f"{QUEUE}.{number:05}") for number in range(queues)))


def table(footprints: Sequence[Footprint]) -> str:
    """The footprints as a Markdown table."""
    return markdown(
        HEADER,
        [
            (
                each.name,
                each.what,
                f"{each.count:,}",
                f"{each.rss_before_mib:,.1f} MiB",
                f"{each.more_mib:,.1f} MiB",
                f"{1024 * each.more_mib / each.count:,.1f} KiB",
            )
            for each in footprints
        ],
    )


@contextmanager
def _reference() -> Iterator[Contestant]:
    with data_folder() as folder, reference_server(folder) as server:
        yield server.contestant


@contextmanager
def _rabbitmq() -> Iterator[Contestant]:
    with rabbitmq_server() as server:
        yield server.contestant


def footprint(
    queues: int = typer.Option(10_000, min=1, help="Durable queues that are added."),
    connections: int = typer.Option(1_000, min=1, help="Connections that are added."),
    consumers: int = typer.Option(50_000, min=1, help="Consumers, over those connections."),
    settle_seconds: float = typer.Option(2.0, min=0, help="Pause before memory is read."),
    rabbitmq: WithRabbitMQ = True,
    json_file: JsonFile = None,
) -> None:
    """Resident memory: of an idle broker, and of what is added to it."""
    allow_many_connections()
    sizes = Sizes(queues, connections, consumers, settle_seconds)
    brokers: list[Broker] = [_reference, _rabbitmq] if rabbitmq else [_reference]
    footprints = [found for broker in brokers for found in measure(broker, sizes)]
    print(table(footprints))
    write_json(json_file, footprints)
