"""The queue that the clients publish to and consume from, as the bench prepares and checks it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.client.scenario import Load, Scenario
from mqkit_bench.filler import Filler, publisher
from mqkit_bench.message import FRAME_MAX_BYTES
from mqkit_bench.report import Discrepancy
from mqkit_bench.ring import Ring
from mqkit_bench.session import Address, Session

CONTENT_TYPES = {Scenario.CONSUME_PYDANTIC: "application/json"}
"""Some libraries decode by this before a handler asks them to."""
OCTETS = "application/octet-stream"
SETTLE_TIMEOUT_S = 10.0
SETTLE_INTERVAL_S = 0.05


def message_frames(load: Load, scenario: Scenario) -> bytes:
    """A persistent publish of the load's body, on channel 1."""
    properties = wire.Properties(
        delivery_mode=wire.PERSISTENT,
        content_type=CONTENT_TYPES.get(scenario, OCTETS),
        message_id="0" * 32,
    )
    method = methods.BasicPublish(exchange="", routing_key=load.queue)
    return wire.content_frames(1, method, properties, load.body, FRAME_MAX_BYTES)


class ClientQueue:
    """Durable and classic. Each call has a connection of its own: rounds take long."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def prepare(self, load: Load, scenario: Scenario) -> None:
        """Empty it, and fill it where the scenario consumes."""
        with closing(Session(self._address)) as control:
            control.declare(load.queue)
        if scenario.consumes:
            ring = Ring([message_frames(load, scenario)])
            with closing(Filler(publisher(self._address), ring)) as filler:
                filler.fill(load.messages, lambda _: None)

    def check(self, load: Load, scenario: Scenario, name: str, done: int) -> None:
        """After a round: all was done, and all is there, or nothing is.

        Raises :exc:`~mqkit_bench.report.Discrepancy`. The client has closed its connection, so what
        it has not acked is ready again.
        """
        expected = 0 if scenario.consumes else load.messages
        left = self._settled(load.queue, expected)
        if done != load.messages or left != expected:
            raise Discrepancy(
                f"{scenario}: {name} did {done:,} of {load.messages:,} messages, and the queue has"
                f" {left:,} where {expected:,} should be"
            )

    def _settled(self, queue: str, expected: int) -> int:
        """The messages in ``queue``, once they are ``expected`` or won't become so: RabbitMQ's
        queue may answer before it has taken the last publishes that nobody wanted a confirm of."""
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        with closing(Session(self._address)) as control:
            while (left := control.ready(queue)) != expected and time.monotonic() < deadline:
                time.sleep(SETTLE_INTERVAL_S)
        return left

    @contextmanager
    def deleted_afterwards(self, name: str) -> Iterator[None]:
        """However the block ends."""
        try:
            yield
        finally:
            with closing(Session(self._address)) as control:
                control.delete(name)
