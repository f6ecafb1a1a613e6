"""Queues with ``x-expires``, used now and then, and left alone. The laws of their ends are those of
:class:`~reference_broker.simulation.clients.features.use.Use`; besides, nobody who consumes one is
told that it is gone. Of their messages nothing is demanded: they go with their queue."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import NamedTuple

from mqkit.wire.methods import (
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicQos,
    ConfirmSelect,
    Method,
    QueueDeclare,
    QueueDeclareOk,
)
from reference_broker.core.broker import Broker
from reference_broker.errors import ReplyCode
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.line import Line
from reference_broker.simulation.clients.features.use import Use

_NAMES = ("shortest", "longer", "transient")
_EXPIRES_MS = (300, 1_000, 2_500, 8_000)
_ANSWERS = (BasicCancelOk, BasicConsumeOk, BasicGetEmpty, BasicGetOk, QueueDeclareOk)


class _Request(NamedTuple):
    """A request that uses a queue; ``life`` is the broker's that it was sent to."""

    queue: str
    sent_ms: int
    life: int


class Expires(Feature):
    name = "expires"
    publish_chance = 0.3
    requeue_chance = 0.2
    synced_by_confirms = False
    """A queue may be gone, or not durable: then nothing is on disk."""
    expected_closes = (*Feature.expected_closes, ReplyCode.NOT_FOUND)
    """A queue may go while a request for it is on its way."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        times_ms = sorted(self.random.sample(_EXPIRES_MS, len(_NAMES)))
        self.uses = {
            name: Use(
                time_ms,
                durable=name != "transient",
                off_ms=partial(self.clock.off_ms, time_ms, in_one_life=True),
            )
            for name, time_ms in zip(_NAMES, times_ms, strict=True)
        }
        self._requests: deque[_Request] = deque()
        """The line's requests without an answer, in order."""
        self._strays: set[str] = set()
        """Queues for which a line that has ended may still have a request on its way."""
        self._consumed: set[str] = set()
        self._has_ended = False
        self._stale: set[int] = set()
        """Connections that may be those of ended lines, by their ids in the broker."""

    def topology(self) -> list[Method]:
        return [ConfirmSelect(), BasicQos(prefetch_count=self.prefetch)]

    def act(self, line: Line) -> None:
        self.settle_some(line)
        if self.draining:
            for queue in sorted(self._consumed):
                self._cancel(line, queue)
            return
        queue = self.random.choice(_NAMES)
        if self.random.random() < self.publish_chance:
            line.publish("", queue, self.post(line, []))
        use = self.random.choice((self._declare, self._get, self._consume, self._leave_alone))
        if use != self._leave_alone and not self.uses[queue].is_surely_there(self.clock.wall_ms()):
            use = self._declare
        use(line, queue)

    # Uses

    def _declare(self, line: Line, queue: str) -> None:
        use = self.uses[queue]
        arguments = {"x-expires": use.expires_ms}
        self._ask(line, queue, QueueDeclare(queue, durable=use.durable, arguments=arguments))

    def _get(self, line: Line, queue: str) -> None:
        self._ask(line, queue, BasicGet(queue, no_ack=True))

    def _consume(self, line: Line, queue: str) -> None:
        if queue in self._consumed:
            self._cancel(line, queue)
            return
        self._consumed.add(queue)
        self._ask(line, queue, BasicConsume(queue=queue, consumer_tag=f"{queue}/0"))

    def _cancel(self, line: Line, queue: str) -> None:
        self._consumed.remove(queue)
        self._ask(line, queue, BasicCancel(f"{queue}/0"))

    def _leave_alone(self, line: Line, queue: str) -> None:
        """Nothing uses it now, but that a message may have been published to it, which is none."""

    def _ask(self, line: Line, queue: str, method: Method) -> None:
        now_ms = self.clock.wall_ms()
        self.uses[queue].asked(now_ms)
        self._requests.append(_Request(queue, now_ms, self.life))
        line.ask(method)

    # Its laws

    def answered(self, line: Line, method: Method) -> None:
        if not isinstance(method, _ANSWERS):
            return
        request = self._requests.popleft()
        self.counts["uses of queues that expire"] += 1
        if request.life != self.life:
            return
        use = self.uses[request.queue]
        use.used(request.sent_ms, self.clock.wall_ms())
        if isinstance(method, QueueDeclareOk):
            use.kept = use.durable and request.queue not in self._strays

    def ended(self, line: Line) -> None:
        self._strays.update(request.queue for request in self._requests)
        self._requests.clear()
        self._consumed.clear()
        self._has_ended = True

    def looked_at(self, broker: Broker) -> None:
        vhost, now_ms = broker.vhosts[self.vhost], self.clock.wall_ms()
        self._look_for_strays({each.id for each in broker.connections.values()})
        asked = self._strays | {request.queue for request in self._requests}
        for name, use in self.uses.items():
            queue = vhost.queues.get(name)
            if name in asked:
                use.asked(now_ms)
            if name in self._strays:
                use.kept = False
            if queue is None:
                self.counts["queues seen to be gone"] += use.surely_ms is not None
                journal = broker.journal
                wrong = use.seen_gone(now_ms, journal.tail, journal.synced, asked=name in asked)
            else:
                wrong = use.seen(now_ms, is_consumed=bool(queue.consumers))
            self._judge(name, wrong)

    def started(self, broker: Broker) -> None:
        self._strays.clear()
        self._stale.clear()
        queues, now_ms = broker.vhosts[self.vhost].queues, self.clock.wall_ms()
        for name, use in self.uses.items():
            self._judge(name, use.started(now_ms, there=name in queues))

    def _look_for_strays(self, connections: set[int]) -> None:
        if self._has_ended:
            self._stale |= connections
            self._has_ended = False
        if not self._stale & connections:
            self._strays.clear()

    def _judge(self, name: str, wrong: str) -> None:
        if wrong:
            raise self.fail(f"queue '{name}' of {self.uses[name].expires_ms} ms {wrong}")
