"""Queues where requeued messages go to the front, to the end, or there after a delay. The law
beside the ledger's: a message that has to wait does, as long as the broker lives."""

from __future__ import annotations

from mqkit.wire.methods import Method, QueueDeclare
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line, Taken

_DELAY_MS = 700


class Requeues(Feature):
    name = "requeues"
    queues = ("front", "back", "slow", "levels")
    requeue_chance = 0.5

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._waits: dict[tuple[str, int], tuple[int, int]] = {}
        """By queue and message: the time until which it has to wait, and the life of the broker in
        which it came back."""

    def declarations(self) -> list[Method]:
        arguments: dict[str, dict[str, object]] = {
            "front": {"x-requeue-position": "front"},
            "back": {"x-requeue-position": "back"},
            "slow": {"x-requeue-position": "back", "x-requeue-delay": _DELAY_MS},
            "levels": {
                "x-requeue-position": "back",
                "x-requeue-lower-priority": 1,
                "x-max-priority": 3,
            },
        }
        return [
            QueueDeclare(queue=queue, durable=True, arguments=arguments[queue])
            for queue in self.queues
        ]

    def publish(self, line: Line) -> None:
        queue = self.random.choice(self.queues)
        line.publish("", queue, self.post(line, [(queue,)]))

    def requeued(self, line: Line, taken: Taken) -> None:
        if taken.queue == "slow":
            off_ms = self.clock.off_ms(_DELAY_MS, in_one_life=True)
            until_ms = self.clock.wall_ms() + _DELAY_MS - off_ms
            self._waits[taken.queue, taken.number] = until_ms, self.life

    def delivered(self, line: Line, taken: Taken) -> None:
        until_ms, life = self._waits.pop((taken.queue, taken.number), (0, 0))
        if life == self.life and taken.sent_ms < until_ms:
            raise self.fail(
                f"message {taken.number} came {until_ms - taken.sent_ms} ms before its delay's end"
            )
