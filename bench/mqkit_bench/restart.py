"""A restart: a stop or a ``kill -9``, and the seconds until the first delivery after it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, unique

from mqkit_bench.contestant import Contestant, Counts
from mqkit_bench.server import Server
from mqkit_bench.session import Session


@unique
class Ending(Enum):
    """The end of the broker before it was started again."""

    KILL = "kill -9"
    STOP = "clean"


@dataclass(frozen=True, slots=True)
class Restart:
    """Seconds from the start of the process; ``recovered`` as the management API has it after it,
    which is known to be what had been confirmed."""

    ending: str
    stop_s: float
    ready_s: float
    first_delivery_s: float
    recovered: int
    rss_mib: float


def restart(server: Server, ending: Ending, queues: Sequence[str], messages: int) -> Restart:
    """End the broker, start it, take a message of the first queue and give it back.

    Raises :exc:`~mqkit_bench.report.Discrepancy` when it doesn't hold ``messages`` then.
    """
    stopping = time.perf_counter()
    if ending is Ending.KILL:
        server.kill()
    else:
        server.stop()
    started = time.perf_counter()
    server.start()
    ready = time.perf_counter()
    delivered = _first_delivery(server.contestant, queues[0])
    server.contestant.expect(queues, Counts(messages, 0))
    return Restart(
        ending=ending.value,
        stop_s=started - stopping,
        ready_s=ready - started,
        first_delivery_s=delivered - started,
        recovered=messages,
        rss_mib=server.contestant.rss_mib(),
    )


def _first_delivery(contestant: Contestant, queue: str) -> float:
    """The moment of the first delivery. It stays unacked, and its connection is closed: it goes
    back to its place."""
    session = Session(contestant.address)
    try:
        session.consume(queue, prefetch=1)
        session.wait_for_delivery()
        return time.perf_counter()
    finally:
        session.close()
