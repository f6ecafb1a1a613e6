"""Messages whose bodies stand in the log in several chunks. Its law is that they come with all of
their body, from memory or from the disk, whatever was torn."""

from __future__ import annotations

from mqkit.wire.methods import Method, QueueDeclare
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.ledger import Post
from reference_broker.simulation.clients.features.line import Line
from reference_broker.store.format.record import CHUNK_BYTES

_SIZES = (CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES + 7)
"""Sizes of bodies: the largest in one piece, and those of two and of three chunks."""


class Large(Feature):
    name = "large"
    queues = ("large",)
    body_max_bytes = max(_SIZES)
    publish_chance = 0.3
    requeue_chance = 0.3

    def declarations(self) -> list[Method]:
        return [QueueDeclare(queue="large", durable=True)]

    def publish(self, line: Line) -> None:
        size_bytes = self.random.choice(_SIZES)
        self.counts["bodies in chunks"] += size_bytes > CHUNK_BYTES
        line.publish("", "large", self.large_post(line, size_bytes))

    def large_post(self, line: Line, size_bytes: int) -> Post:
        """Enter a message of that size in the ledger."""
        post = self.post(line, [self.queues])
        post.size_bytes = size_bytes
        return post
