"""A quorum queue beside a classic one, with a delivery limit and a single active consumer.

Its laws: a return that is known to be synced is counted from then on, whatever crashes; nothing is
handed out that came back more often than the limit; the second consumer gets nothing while the
first is there. Of one publish the quorum queue stores transient messages too, and the classic queue
beside it does not.
"""

from __future__ import annotations

from collections import deque

from mqkit.wire.methods import BasicConsume, ExchangeDeclare, Method, QueueBind, QueueDeclare
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.ledger import Post
from reference_broker.simulation.clients.features.line import Line, Taken

COUNT = "x-delivery-count"
_TRANSIENT_CHANCE = 0.3
_STORES_ALL = {"x-queue-type": "quorum", "x-delivery-limit": -1}


class Quorum(Feature):
    name = "quorum"
    queues = ("counted", "dead", "beside")
    dead_lettering = ("counted",)
    requeue_chance = 0.5
    reject_chance = 0.05

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.limit = self.random.randint(2, 6)
        self._counted: dict[int, int] = {}
        """Failed deliveries that are on disk, by message."""
        self._returns: dict[int, deque[tuple[int, int]]] = {}
        """Message and count of each return, by line, until a later publish is confirmed."""
        self._before: dict[int, int] = {}
        """Returns that its line had sent before a message, by message."""
        self._done: dict[int, int] = {}

    def declarations(self) -> list[Method]:
        arguments = {
            "x-queue-type": "quorum",
            "x-delivery-limit": self.limit,
            "x-single-active-consumer": True,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": "dead",
        }
        return [
            ExchangeDeclare("fan", "fanout", durable=True),
            QueueDeclare(queue="dead", durable=True, arguments=_STORES_ALL),
            QueueDeclare(queue="counted", durable=True, arguments=arguments),
            QueueDeclare(queue="beside", durable=True),
            QueueBind(queue="counted", exchange="fan"),
            QueueBind(queue="beside", exchange="fan"),
        ]

    def topology(self) -> list[Method]:
        return [*super().topology(), BasicConsume(queue="counted", consumer_tag="counted/1")]

    def publish(self, line: Line) -> None:
        persistent = self.random.random() >= _TRANSIENT_CHANCE
        places = [("counted", "dead"), ("beside",)]
        post = self.post(line, places if persistent else places[:1])
        returns = self._returns.get(line.number, ())
        self._before[post.number] = self._done.get(line.number, 0) + len(returns)
        line.publish("fan", "", post, persistent=persistent)

    def confirmed(self, line: Line, post: Post) -> None:
        super().confirmed(line, post)
        returns = self._returns.get(line.number, deque())
        for _ in range(self._before[post.number] - self._done.get(line.number, 0)):
            number, count = returns.popleft()
            self._counted[number] = max(count, self._counted.get(number, 0))
            self._done[line.number] = self._done.get(line.number, 0) + 1

    def requeued(self, line: Line, taken: Taken) -> None:
        if taken.queue == "counted":
            count = taken.headers.get(COUNT, 0) + 1
            self._returns.setdefault(line.number, deque()).append((taken.number, count))

    def delivered(self, line: Line, taken: Taken) -> None:
        if taken.queue != "counted":
            return
        if taken.consumer != "counted/0":
            raise self.fail(f"'{taken.consumer}' got a message, and 'counted/0' is there")
        count, known = taken.headers.get(COUNT, 0), self._counted.get(taken.number, 0)
        if count < known:
            raise self.fail(
                f"message {taken.number} came with a delivery count of {count}, and {known} were "
                "on disk"
            )
        if count > self.limit:
            raise self.fail(
                f"message {taken.number} was handed out with {count} failed deliveries; "
                f"{self.limit} are allowed"
            )
