"""Several consumers of one channel, on a queue that they share and on one with a single active
consumer; they are cancelled alone, and what they hold is settled over all of them at once.

Its laws: of the second queue only the consumer whose turn it is gets something, and when it is
cancelled alone the next one does; no consumer holds more than its prefetch, whatever was given back
by one `basic.nack` or `basic.recover` for all; and none of that loses a message.
"""

from __future__ import annotations

from mqkit.wire.methods import (
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicRecover,
    BasicRecoverOk,
    Method,
    QueueDeclare,
)
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line, Taken

_TOGETHER_CHANCE = 0.3
"""Share of the settlements that are for all consumers together."""
_CANCEL_CHANCE = 0.1
_CONSUMERS = 3


class Consumers(Feature):
    name = "consumers"
    queues = ("together", "in-turn")
    requeue_chance = 0.3

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._turns: dict[str, list[str]] = {}
        """By queue: the tags of its consumers, in the order in which they came."""
        self._numbered = 0

    def declarations(self) -> list[Method]:
        one_at_a_time = {"x-single-active-consumer": True}
        return [
            QueueDeclare(queue="together", durable=True),
            QueueDeclare(queue="in-turn", durable=True, arguments=one_at_a_time),
        ]

    def topology(self) -> list[Method]:
        self._turns = {queue: [f"{queue}/0"] for queue in self.queues}
        self._numbered = 0
        others = (_CONSUMERS - 1) * self.queues
        return [*super().topology(), *(self._another(queue) for queue in others)]

    def _another(self, queue: str) -> BasicConsume:
        self._numbered += 1
        tag = f"{queue}/{self._numbered}"
        self._turns[queue].append(tag)
        return BasicConsume(queue=queue, consumer_tag=tag)

    def publish(self, line: Line) -> None:
        queue = self.random.choice(self.queues)
        line.publish("", queue, self.post(line, [(queue,)]))

    def act(self, line: Line) -> None:
        if not self.draining and self.random.random() < _CANCEL_CHANCE:
            self._change(line, self.random.choice(self.queues))
        else:
            super().act(line)

    def _change(self, line: Line, queue: str) -> None:
        """Cancel the consumer whose turn it is, or another one; or begin one."""
        turns = self._turns[queue]
        if len(turns) < _CONSUMERS:
            line.ask(self._another(queue))
        else:
            tag = self.random.choice((turns[0], self.random.choice(turns)))
            self.counts["active consumers cancelled alone"] += tag == turns[0]
            line.ask(BasicCancel(consumer_tag=tag))

    def settle_some(self, line: Line) -> None:
        if self.draining or not line.held or self.random.random() >= _TOGETHER_CHANCE:
            super().settle_some(line)
            return
        owners = {taken.consumer for taken in line.held.values()}
        self.counts["settlements over several consumers"] += len(owners) > 1
        if self.random.random() < 0.3:
            line.ask(BasicRecover(requeue=True))
            return
        tag = self.random.choice(list(line.held))
        if self.random.random() < 0.5:
            line.give_back_through(tag)
        else:
            for taken in line.ack_through(tag):
                self.ledger.settled(line.number, taken.queue, taken.number)

    def answered(self, line: Line, method: Method) -> None:
        if isinstance(method, BasicCancelOk):
            queue = method.consumer_tag.partition("/")[0]
            self._turns[queue].remove(method.consumer_tag)
        elif isinstance(method, BasicRecoverOk):
            # What was on its way to the client was given back with what it had.
            line.held.clear()

    def delivered(self, line: Line, taken: Taken) -> None:
        turn = self._turns["in-turn"]
        if taken.queue == "in-turn" and taken.consumer != turn[0]:
            raise self.fail(f"'{taken.consumer}' got a message, and it is the turn of '{turn[0]}'")
        holds = sum(each.consumer == taken.consumer for each in line.held.values())
        if holds > self.prefetch:
            raise self.fail(f"'{taken.consumer}' holds {holds} messages of {self.prefetch}")
