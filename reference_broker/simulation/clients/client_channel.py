"""One channel of a client: it publishes, takes, settles and removes, and remembers all of that.

It knows what a client can know: what it sent, what it was told. All of that goes to the history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from mqkit.wire import Command, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsumeOk,
    BasicDeliver,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicPublish,
    BasicQosOk,
    BasicReject,
    ConfirmSelectOk,
    ExchangeDeclareOk,
    Method,
    QueueBindOk,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
)
from reference_broker.simulation.clients.memory import Memory
from reference_broker.simulation.events.definitions import Declaration, definition_of, queue_key
from reference_broker.simulation.events.events import (
    Delivery,
    Message,
    Removal,
    RemovalKind,
    Settlement,
)
from reference_broker.simulation.events.marking import marks_of, properties_of
from reference_broker.simulation.plan.plans import ChannelPlan, Consume, QueuePlan, Route, consume
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.watch.history import History

_ANSWERS = (BasicCancelOk, BasicConsumeOk, BasicQosOk, ConfirmSelectOk)
_DECLARED = (ExchangeDeclareOk, QueueBindOk, QueueDeclareOk)


class ClientChannel:
    """A channel, from its channel.open-ok on; ``session`` is its number in the history.

    ``held`` are its deliveries by tag, ``unconfirmed`` its messages by publish sequence number.
    Methods that give bytes have noted what is in them: the caller must send them.
    """

    def __init__(
        self,
        number: int,
        plan: ChannelPlan,
        history: History,
        memory: Memory,
        life: int,
        frame_max: int,
    ) -> None:
        self.number = number
        self.plan = plan
        self.session = history.begin_session()
        self.held: dict[int, Delivery] = {}
        self.unconfirmed: dict[int, Message] = {}
        self.consumers: dict[str, Consume] = {}
        """Every consumer that this channel ever began, by tag."""
        self.active: dict[str, str] = {}
        """The tags of consumers that were not cancelled, by queue."""
        self.gets: list[Consume] = []
        """Every basic.get, in order."""
        self.handed_ms: dict[str, int] = {}
        """By queue: the time at which a consumer of it was handed the last message."""
        self._history = history
        self._memory = memory
        self._life = life
        self._frame_max = frame_max
        self._asked = 0
        self._answers = 0
        self._answered_gets = 0
        self._published = 0
        self._settled = 0
        self._removals: deque[Removal] = deque()
        self._declarations: deque[Declaration] = deque()
        self._handlers: dict[type[Method], Callable[[Any, Command, int], None]] = {
            BasicDeliver: self._deliver,
            BasicGetOk: self._get_ok,
            BasicGetEmpty: self._get_empty,
            BasicAck: self._ack,
            BasicNack: self._nack,
            BasicCancel: self._cancelled,
            QueuePurgeOk: self._removed,
            QueueDeleteOk: self._removed,
        }
        self._handlers |= dict.fromkeys(_ANSWERS, self._answer)
        self._handlers |= dict.fromkeys(_DECLARED, self._declared)

    @property
    def waits_for(self) -> int:
        """The number of requests that have no answer."""
        gets = len(self.gets) - self._answered_gets
        return self._asked - self._answers + gets + len(self._removals)

    @property
    def answered(self) -> bool:
        """True when every request of the channel was answered."""
        return self._answers >= self._asked

    def receive(self, command: Command, sent: int) -> None:
        """Take a command of the broker on this channel, with the stamp of its hand-out. Raises
        :exc:`Violation` for one that the broker may not send."""
        handler = self._handlers.get(type(command.method))
        if handler is None:
            raise Violation("protocol", f"a client got {command.method}")
        handler(command.method, command, sent)

    # What a client does

    def ask(self, methods: Sequence[Method]) -> bytes:
        """Ask with methods that have one answer each."""
        self._asked += len(methods)
        for method in methods:
            definition = definition_of(method)
            if definition is not None:
                self._declarations.append(self._history.declaration_sent(definition))
        return b"".join(method_frame(self.number, method) for method in methods)

    def begin(self, topology: Sequence[Method]) -> bytes:
        """Send everything that comes first: declarations that are needed, settings, consumers."""
        topology = self._memory.left_to_say(topology)
        frames = self.ask([*topology, *self.plan.setup()])
        return frames + b"".join(self.consume(each) for each in self.plan.consumes)

    def consume(self, plan: Consume) -> bytes:
        tag = f"{plan.queue}/{len(self.consumers)}"
        self.consumers[tag] = plan
        self.active[plan.queue] = tag
        return self.ask([consume(plan, tag)])

    def cancel(self, queue: str) -> bytes:
        """End the consumer of ``queue``. Its unsettled messages stay unsettled."""
        return self.ask([BasicCancel(consumer_tag=self.active.pop(queue))])

    def get(self, plan: Consume) -> bytes:
        self.gets.append(plan)
        if plan.no_ack:
            self._history.blind_get_sent(plan.queue)
        return method_frame(self.number, BasicGet(queue=plan.queue, no_ack=plan.no_ack))

    def publish(
        self,
        route: Route,
        size: int,
        persistent: bool,
        priority: int | None = None,
        expiration_ms: int | None = None,
    ) -> bytes:
        exchange, routing_key, queues = route
        self._published += 1
        message = self._history.publish(
            Message(
                number=0,
                session=self.session,
                queues=queues,
                persistent=persistent,
                settled_before=self._settled,
                size=size,
                priority=priority,
                expiration_ms=expiration_ms,
                life=self._life,
            )
        )
        self.unconfirmed[self._published] = message
        method = BasicPublish(exchange, routing_key)
        properties = properties_of(message)
        return content_frames(self.number, method, properties, message.body, self._frame_max)

    def settle(self, delivery_tag: int, how: Settlement, *, multiple: bool = False) -> bytes:
        """Settle one delivery, or all up to it."""
        tags = [delivery_tag]
        if multiple:
            tags = [tag for tag in self.held if tag <= delivery_tag]
        for tag in tags:
            self._settled += 1
            self._history.settled(self.held.pop(tag), how)
        requeue = how is Settlement.REQUEUE
        if how is Settlement.ACK:
            return method_frame(self.number, BasicAck(delivery_tag, multiple))
        if multiple:
            return method_frame(self.number, BasicNack(delivery_tag, multiple, requeue))
        return method_frame(self.number, BasicReject(delivery_tag, requeue))

    def remove(self, kind: RemovalKind, queue: QueuePlan) -> bytes:
        """Purge a queue or delete it. A deleted one is declared again, and consumed again if it
        was."""
        removal = self._history.removal_sent(kind, queue.name, self.session)
        removal.held += [each.entry for each in self.held.values() if each.queue == queue.name]
        self._removals.append(removal)
        if kind is RemovalKind.PURGE:
            return method_frame(self.number, QueuePurge(queue=queue.name))
        self._memory.deletion_sent(queue_key(queue.name))
        frames = method_frame(self.number, QueueDelete(queue=queue.name))
        frames += self.ask([queue.declaration()])
        tag = self.active.pop(queue.name, None)
        return frames if tag is None else frames + self.consume(self.consumers[tag])

    # What the broker says

    def _answer(self, method: Method, _: Command, sent: int) -> None:
        self._answers += 1

    def _declared(self, method: Method, _: Command, sent: int) -> None:
        self._answers += 1
        declaration = self._declarations.popleft()
        self._history.declared(declaration)
        self._memory.declared(declaration.definition)

    def _deliver(self, method: BasicDeliver, command: Command, sent: int) -> None:
        plan = self.consumers[method.consumer_tag]
        delivery = self._delivery(command, plan, method.redelivered, sent)
        delivery.consumer = method.consumer_tag
        self.handed_ms[plan.queue] = delivery.sent_ms
        delivery.prefetch = self.plan.prefetch
        delivery.channel_prefetch = self.plan.channel_prefetch
        self._take(method.delivery_tag, delivery)

    def _get_ok(self, method: BasicGetOk, command: Command, sent: int) -> None:
        plan = self.gets[self._answered_gets]
        self._answered_gets += 1
        delivery = self._delivery(command, plan, method.redelivered, sent)
        self._take(method.delivery_tag, delivery)

    def _get_empty(self, method: BasicGetEmpty, _: Command, sent: int) -> None:
        self._answered_gets += 1

    def _delivery(self, command: Command, plan: Consume, redelivered: bool, sent: int) -> Delivery:
        marks = marks_of(command.header)
        message = self._history.message(marks.number)
        if command.body != message.body:
            raise Violation("content", f"message {marks.number} came with another body")
        if marks.properties != properties_of(message, dead=bool(marks.history)):
            raise Violation(
                "content", f"message {marks.number} came with other properties: {marks.properties}"
            )
        return Delivery(
            number=marks.number,
            queue=plan.queue,
            session=self.session,
            sent=sent,
            redelivered=redelivered,
            alone=plan.alone,
            no_ack=plan.no_ack,
            sent_ms=self._history.wall_ms(sent),
            history=marks.history,
            first_death=marks.first_death,
            last_death=marks.last_death,
        )

    def _take(self, delivery_tag: int, delivery: Delivery) -> None:
        self._history.delivered(delivery)
        for removal in self._removals:
            if removal.queue == delivery.queue:
                removal.held.append(delivery.entry)
        if delivery.no_ack:
            self._settled += 1
            self._history.settled(delivery, Settlement.AUTO)
        else:
            self.held[delivery_tag] = delivery

    def _ack(self, method: BasicAck, _: Command, sent: int) -> None:
        for message in self._take_unconfirmed(method.delivery_tag, method.multiple):
            self._history.confirmed(message)

    def _nack(self, method: BasicNack, _: Command, sent: int) -> None:
        for message in self._take_unconfirmed(method.delivery_tag, method.multiple):
            self._history.nacked(message)

    def _take_unconfirmed(self, sequence: int, multiple: bool) -> list[Message]:
        if sequence not in self.unconfirmed:
            raise Violation("protocol", f"a confirm for {sequence}, which is not waiting for one")
        sequences = [sequence]
        if multiple:
            sequences = [each for each in self.unconfirmed if each <= sequence]
        return [self.unconfirmed.pop(each) for each in sequences]

    def _cancelled(self, method: BasicCancel, _: Command, sent: int) -> None:
        """The broker cancels a consumer, because its queue is deleted."""
        queue = self.consumers[method.consumer_tag].queue
        if self.active.get(queue) == method.consumer_tag:
            del self.active[queue]

    def _removed(self, method: Method, _: Command, sent: int) -> None:
        removal = self._removals.popleft()
        self._history.removed(removal)
        if removal.kind is RemovalKind.DELETE:
            self._memory.deleted(queue_key(removal.queue))
