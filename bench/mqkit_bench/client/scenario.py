"""The scenarios of clients: publishing with confirms, and consuming with acks.

Light on purpose: a contestant's process loads this, and its memory is a figure.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from mqkit_bench.client.meter import Meter

IN_FLIGHT_MAX = 1000
"""Publishes that wait for their confirms at a time: those of one batch, or of several callers'."""
PREFETCH = 1000
ACK_BATCH = PREFETCH // 2
"""Messages of one multiple ack; meanwhile the other half of the prefetch is handled."""
SINGLY_SHARE = 4
"""With one message in flight each waits for its own disk sync: a quarter of the messages do."""


class Scenario(StrEnum):
    """The rows of the table, and what ``--scenario`` takes."""

    PUBLISH_1 = "publish-1"
    PUBLISH_100 = "publish-100"
    PUBLISH_1000 = "publish-1000"
    PUBLISH_BATCH = "publish-batch"
    PUBLISH_BATCHES = "publish-batches"
    CONSUME_ACK = "consume-ack"
    CONSUME_ACK_BATCH = "consume-ack-batch"
    CONSUME_PYDANTIC = "consume-pydantic"

    @property
    def consumes(self) -> bool:
        """The messages are in the queue before."""
        return self in CONSUMING


CONSUMING = frozenset({Scenario.CONSUME_ACK, Scenario.CONSUME_ACK_BATCH, Scenario.CONSUME_PYDANTIC})
BATCH_CALLERS = {Scenario.PUBLISH_BATCH: 1, Scenario.PUBLISH_BATCHES: 4}
"""One caller has nothing to do while the broker works, nor has the broker while the caller does."""
IN_FLIGHT = {Scenario.PUBLISH_1: 1, Scenario.PUBLISH_100: 100, Scenario.PUBLISH_1000: 1000}


@dataclass(frozen=True, slots=True)
class Load:
    """So many messages with bodies of about so many octets, to or from one durable queue."""

    queue: str
    messages: int
    body_bytes: int

    @property
    def body(self) -> bytes:
        """JSON of a :class:`~mqkit_bench.client.flight.Flight`; never less than what that takes."""
        bare = len(_flight(""))
        return _flight("x" * max(0, self.body_bytes - bare))

    def of(self, scenario: Scenario) -> Load:
        """The load of one round of the scenario."""
        if scenario is not Scenario.PUBLISH_1:
            return self
        return Load(self.queue, max(1, self.messages // SINGLY_SHARE), self.body_bytes)


Play: TypeAlias = Callable[[str, Load, Meter], int]
"""Connects to the URL, carries the load, begins and ends the meter around it, and returns how many
messages the broker has confirmed (was sent, where confirms are off) or got acks for. The queue is
there, and empty or filled."""


def _flight(note: str) -> bytes:
    flight = {"origin": "DTW", "delay": 66, "note": note}
    return json.dumps(flight, separators=(",", ":")).encode()
