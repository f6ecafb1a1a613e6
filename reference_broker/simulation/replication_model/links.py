"""Links between replicas: messages in order, until the connection is reset."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import NamedTuple

from reference_broker.simulation.replication_model.key import Copy
from reference_broker.simulation.replication_model.ledger import Op


class Append(NamedTuple):
    """A leader's whole log, and its commit mark."""

    epoch: int
    log: list[Op]
    committed: int


class Ack(NamedTuple):
    """So many operations are ``durable`` at a copy, for the leader of an epoch."""

    epoch: int
    durable: int
    copy: Copy


Message = Append | Ack


class Links:
    """Messages that are on their way, for each ordered pair of nodes."""

    def __init__(self, nodes: int, random: Random) -> None:
        self._random = random
        self._queues: dict[tuple[int, int], deque[Message]] = {
            (source, target): deque()
            for target in range(nodes)
            for source in range(nodes)
            if source != target
        }

    def send(self, source: int, target: int, message: Message) -> None:
        """Put a message on its way."""
        self._queues[source, target].append(message)

    def arrive(self, target: int) -> tuple[int, Message] | None:
        """The next message to ``target`` from anybody, and its source."""
        waiting = [pair for pair, queue in self._queues.items() if queue and pair[1] == target]
        if not waiting:
            return None
        pair = self._random.choice(waiting)
        return pair[0], self._queues[pair].popleft()

    def reset_one(self) -> None:
        """Lose everything on any link that has something."""
        waiting = [queue for queue in self._queues.values() if queue]
        if waiting:
            self._random.choice(waiting).clear()

    def reset(self, node: int) -> None:
        """Lose everything from and to ``node``."""
        for pair, queue in self._queues.items():
            if node in pair:
                queue.clear()
