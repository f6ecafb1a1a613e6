"""A delayed exchange. Its law: no message comes before its time, whatever was restarted."""

from __future__ import annotations

from mqkit.wire.methods import ExchangeDeclare, Method, QueueBind, QueueDeclare
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line, Taken

_DELAYS_MS = (0, 5, 300, 2_000, 8_000)


class Delayed(Feature):
    name = "delayed"
    queues = ("arrivals",)

    def declarations(self) -> list[Method]:
        kind = {"x-delayed-type": "direct"}
        return [
            ExchangeDeclare("later", "x-delayed-message", durable=True, arguments=kind),
            QueueDeclare(queue="arrivals", durable=True),
            QueueBind(queue="arrivals", exchange="later", routing_key="arrivals"),
        ]

    def publish(self, line: Line) -> None:
        delay_ms = self.random.choice(_DELAYS_MS)
        post = self.post(line, [("arrivals",)])
        line.publish("later", "arrivals", post, headers={"x-delay": delay_ms})

    def delivered(self, line: Line, taken: Taken) -> None:
        post, delay_ms = self.ledger.posts[taken.number], abs(taken.headers["x-delay"])
        off_ms = self.clock.off_ms(delay_ms, in_one_life=post.life == self.life)
        due_ms = post.wall_ms + delay_ms - off_ms
        if taken.sent_ms < due_ms:
            raise self.fail(
                f"message {taken.number} came {due_ms - taken.sent_ms} ms before its time"
            )
