"""A queue that is purged, or deleted and declared again, while its messages are read from the disk:
by `basic.get` or a consumer, right behind which the removal comes.

Its law: all that was there before an answered removal, and was not taken, is not handed out any
more; and never, once that is on disk.
"""

from __future__ import annotations

from mqkit.wire.methods import (
    BasicCancel,
    BasicConsume,
    BasicGet,
    ConfirmSelect,
    Method,
    QueueDeclare,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
)
from reference_broker.core.broker import Broker
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line, Taken

_SIZES = (100, 500, 6_000)
"""Bytes of bodies: of one taken from memory the next ones are read, and the removal is there
first."""

_REMOVAL_CHANCE = 0.3
_GETS_MAX = 3
_RUN = 4


class Removals(Feature):
    name = "removals"
    body_max_bytes = max(_SIZES)
    publish_chance = 0.4
    deletes_consumed = True

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._doomed: set[int] = set()
        """Messages that a removal without an answer may take."""
        self._removed: set[int] = set()
        """Those that are gone for certain, as long as this broker lives."""

    def declarations(self) -> list[Method]:
        return [QueueDeclare(queue="removed", durable=True)]

    def topology(self) -> list[Method]:
        return [*self.declarations(), ConfirmSelect()]

    def act(self, line: Line) -> None:
        if self.draining:
            self.settle_some(line)
            line.ask(*(_GETS_MAX * [BasicGet("removed")]))
        elif self.random.random() < self.publish_chance:
            super().act(line)
        else:
            self._take_and_remove(line)

    def publish(self, line: Line) -> None:
        for _ in range(_RUN):
            post = self.post(line, [("removed",)])
            post.size_bytes = self.random.choice(_SIZES)
            line.publish("", "removed", post)

    def _take_and_remove(self, line: Line) -> None:
        """All in one piece: the removal comes while messages are read."""
        gets = self.random.randint(1, _GETS_MAX) * [BasicGet("removed")]
        if self.random.random() >= _REMOVAL_CHANCE:
            self.settle_some(line)
            line.ask(*gets)
            return
        self._doomed = set(self.ledger.posts)
        begin: list[Method] = [*gets]
        end: list[Method] = []
        if self.random.random() < 0.5:
            begin = [BasicConsume(queue="removed", consumer_tag="removed/0")]
            end = [BasicCancel("removed/0")]
        if self.random.random() < 0.5:
            line.ask(*begin, QueuePurge("removed"), *end)
        else:
            line.ask(*begin, QueueDelete("removed"), *self.declarations())

    def answered(self, line: Line, method: Method) -> None:
        if isinstance(method, QueueDeleteOk):
            self.counts["queues deleted right behind a read"] += 1
            line.held.clear()
        elif isinstance(method, QueuePurgeOk):
            self.counts["queues purged right behind a read"] += 1
        else:
            return
        held = {taken.number for taken in line.held.values()}
        for number in sorted(self._doomed - held):
            # What an older connection has sent, or held, may come into the queue yet.
            if self.ledger.posts[number].line == line.number:
                self._removed.add(number)
                self.ledger.settled(line.number, "removed", number)
        self._excuse()

    def _excuse(self) -> None:
        """All that was doomed may be gone, or not."""
        for number in self._doomed:
            self.ledger.posts[number].settled_in.add("removed")
        self._doomed = set()

    def ended(self, line: Line) -> None:
        self._excuse()

    def started(self, broker: Broker) -> None:
        self._removed.clear()

    def delivered(self, line: Line, taken: Taken) -> None:
        if taken.number in self._removed:
            raise self.fail(f"message {taken.number} was handed out after it was removed")
