"""The session of an origin, the node at the other end of a link, with the queues that have their
home here. It ends with the link; all that the origin held goes back then.

Commands keep their order. What takes long (many leases, a queue that has to come to rest) is done
before the next one; questions wait on their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mqkit.wire import WireError, decode_table
from reference_broker.cluster.queues.answer_octets import encode_error, encode_number
from reference_broker.cluster.queues.attached_consumer import AttachedConsumer
from reference_broker.cluster.queues.catalogue import Catalogue, vhost_of
from reference_broker.cluster.queues.command_octets import (
    OPEN_MAX,
    Attach,
    Detach,
    Question,
    read_attach,
    read_detach,
    read_grant,
    read_question,
    read_settle,
)
from reference_broker.cluster.queues.held_leases import HeldLeases
from reference_broker.cluster.queues.inquiry import Inquiry, gone
from reference_broker.cluster.queues.kinds import AnswerKind, CommandKind
from reference_broker.cluster.queues.lane_input import work_number
from reference_broker.cluster.queues.publish_intake import PublishIntake
from reference_broker.cluster.queues.settling import put_all_back, settle
from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.base.names import described
from reference_broker.core.channel.consume_arguments import ConsumeArguments
from reference_broker.core.index.memory_window import LEASE_BYTES
from reference_broker.core.queue.rest import require_no_leaving, require_rest
from reference_broker.core.work.until import NotYet, Until
from reference_broker.errors import ChannelException, LinkError

if TYPE_CHECKING:
    from reference_broker.cluster.link.link import Link
    from reference_broker.cluster.queues.lane_output import LaneOutput
    from reference_broker.cluster.queues.octet_reader import OctetReader
    from reference_broker.core.broker import Broker
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps

_WOKEN_PER_UNIT = 8
"""Consumers that are woken in the time of one message."""


class OriginSession:
    """The session over ``link``, whose lane DELIVER has this ``output``. Call :meth:`flush` at the
    end of each turn, and :meth:`close` when the link is down."""

    def __init__(
        self,
        link: Link,
        broker: Broker,
        catalogue: Catalogue,
        output: LaneOutput,
        look_at: Callable[[Link], None],
    ) -> None:
        self.broker = broker
        self.output = output
        self.leases = HeldLeases()
        self.intake = PublishIntake(link, broker, catalogue, look_at)
        self.node = link.peer.node
        self.leaving: Until | None = None
        self.delivered = 0
        self.is_closed = False
        self._link = link
        self._catalogue = catalogue
        self._consumers: dict[int, AttachedConsumer] = {}
        self._consumer_bytes = 0
        self._last_attachment = 0
        self._starved: dict[AttachedConsumer, None] = {}
        self._questions = 0
        self._last_token = 0

    @property
    def held_bytes(self) -> int:
        """Accounted octets of consumers and leases. Messages are their queues'."""
        return self._consumer_bytes + len(self.leases) * LEASE_BYTES

    def until_taken(self, number: int) -> Steps:
        """See :class:`~reference_broker.cluster.queues.inquiry.InquirySession`."""
        return self.intake.until_taken(number)

    def flush(self) -> None:
        """The turn ends."""
        self.intake.flush()
        self.output.flush()

    def close(self) -> None:
        """The link is down: every consumer leaves its queue, and what the origin holds goes back,
        in portions. Idempotent."""
        if self.is_closed:
            return
        self.is_closed = True
        self.intake.close()
        self._starved.clear()
        self.leaving = Until()
        self.broker.work.start(self._end(self.leaving), "", work_number(self._link))

    def _end(self, leaving: Until) -> Steps:
        budget, consumers = self.broker.budget, self._consumers
        while consumers:
            if budget.left <= 0:
                yield None
                continue
            _, consumer = consumers.popitem()
            consumer.grant(0, 0)
            consumer.queue.remove_consumer(consumer)
            budget.left -= 1
        self.leaving = None
        leaving.happened()
        yield from put_all_back(self.leases.take_all())

    def find(self, queue_id: int) -> Queue | None:
        """See :class:`~reference_broker.cluster.queues.inquiry.InquirySession`."""
        queue = self._catalogue.find(queue_id, self.intake.revision)
        return None if queue is None else vhost_of(queue).queue_there(queue.name)

    def fail(self, reason: str) -> None:
        """End the link."""
        self._link.end(reason)

    # Commands

    def take(self, kind: int, reader: OctetReader) -> Steps | None:
        """See :data:`~reference_broker.cluster.queues.lane_input.TakeItem`."""
        self.broker.budget.left -= 1
        if kind == CommandKind.SETTLE:
            queue_id, how, numbers = read_settle(reader)
            leases, missing = self.leases.take(queue_id, numbers)
            if missing:
                self._count_stale(queue_id, missing)
            return settle(leases, how)
        if kind == CommandKind.GRANT:
            attachment, messages, octets = read_grant(reader)
            consumer = self._consumers.get(attachment)
            if consumer is not None:
                consumer.grant(messages, octets)
            return None
        if kind == CommandKind.ATTACH:
            attach = read_attach(reader)
            if attach.attachment <= self._last_attachment:
                raise LinkError(f"attachment {attach.attachment} came twice")
            self._last_attachment = attach.attachment
            return self._attach(attach)
        if kind == CommandKind.DETACH:
            self._detach(read_detach(reader))
            return None
        try:
            self._ask(CommandKind(kind), read_question(reader))
        except ValueError as error:
            raise LinkError(f"kind {kind} in the lane of deliveries") from error
        return None

    def _count_stale(self, queue_id: int, count: int) -> None:
        queue = self.broker.queues_by_id.get(queue_id)
        if queue is not None:
            queue.stale_settlements += count

    # Consumers

    def _attach(self, attach: Attach) -> Steps:
        while True:
            try:
                queue = self.find(attach.queue_id)
                if queue is None:
                    raise gone(attach.queue_id)
                self._add_consumer(queue, attach)
            except NotYet as wait:
                until = wait.until
            except ChannelException as error:
                item = encode_error(attach.attachment, error)
                self.output.add_small(AnswerKind.NOT_ATTACHED, item)
                return
            else:
                return
            yield until
            if self.is_closed:
                return

    def _add_consumer(self, queue: Queue, attach: Attach) -> None:
        """As :func:`reference_broker.core.channel.consume.consume`, which raises the same."""
        queue_type = queue.limits.queue_type
        octets = attach.terms.arguments
        try:
            arguments, end = decode_table(len(octets).to_bytes(4) + octets)
        except WireError as error:
            raise LinkError(f"a consumer's arguments can't be read: {error}") from error
        if end != len(octets) + 4:
            raise LinkError("a consumer's arguments can't be read to their end")
        where = described("queue", queue.name, queue.env.vhost_name)
        asked = ConsumeArguments.parse(arguments, where, queue_type.module)
        exclusive = attach.terms.exclusive and queue_type is QueueType.CLASSIC
        consumer = AttachedConsumer(
            self, attach.attachment, queue, attach.terms, asked, exclusive=exclusive
        )
        if queue.auto_delete or queue.rotation.refuses(consumer):
            require_no_leaving(queue)
        queue.add_consumer(consumer)
        self._consumers[attach.attachment] = consumer
        self._consumer_bytes += consumer.memory_bytes
        self.output.add_small(AnswerKind.ATTACHED, encode_number(attach.attachment))

    def _detach(self, detach: Detach) -> None:
        consumer = self._consumers.get(detach.attachment)
        if consumer is not None:
            steps = self._leave(consumer, detach.after)
            self.broker.work.start(steps, "", work_number(self._link))

    def _leave(self, consumer: AttachedConsumer, after: int) -> Steps:
        """The steps of leaving. What the origin published before still counts, for a consumer that
        has room for it."""
        yield from self.intake.until_taken(after)
        while self._consumers.get(consumer.attachment) is consumer:
            try:
                require_rest(consumer.queue)
            except NotYet as wait:
                yield wait.until
                continue
            del self._consumers[consumer.attachment]
            self._consumer_bytes -= consumer.memory_bytes
            self._starved.pop(consumer, None)
            consumer.queue.remove_consumer(consumer)
            self.output.add_small(AnswerKind.DETACHED, encode_number(consumer.attachment))

    def consumer_gone(self, consumer: AttachedConsumer) -> None:
        """See :class:`~reference_broker.cluster.queues.attached_consumer.ConsumerSession`."""
        self.leases.forget(consumer.queue)
        self._starved.pop(consumer, None)
        if self._consumers.pop(consumer.attachment, None) is not None:
            self._consumer_bytes -= consumer.memory_bytes
            self.output.add_small(AnswerKind.GONE, encode_number(consumer.attachment))

    def settled(self, count: int = 1) -> None:
        """Do nothing, as the holder of what basic.get has got: it counts against no prefetch."""

    def starve(self, consumer: AttachedConsumer) -> None:
        """See :class:`~reference_broker.cluster.queues.attached_consumer.ConsumerSession`."""
        if not self._starved and not self.is_closed:
            self.output.room_comes.then(self._feed)
        self._starved[consumer] = None

    def _feed(self) -> None:
        if self._starved and not self.is_closed:
            self.broker.work.start(self._wake_starved(), "", work_number(self._link))

    def _wake_starved(self) -> Steps:
        """Wake those who had no room, in their order."""
        starved, self._starved = self._starved, {}
        for number, consumer in enumerate(starved):
            if not number % _WOKEN_PER_UNIT:
                self.broker.budget.left -= 1
                if self.broker.budget.left <= 0:
                    yield None
            if self._consumers.get(consumer.attachment) is consumer:
                consumer.wake()

    # Questions

    def _ask(self, kind: CommandKind, question: Question) -> None:
        if question.token <= self._last_token:
            raise LinkError(f"question {question.token} came after {self._last_token}")
        if self._questions == OPEN_MAX:
            raise LinkError(f"more than {OPEN_MAX} questions are open")
        self._last_token = question.token
        self._questions += 1
        steps = Inquiry(self, kind, question).steps()
        self.broker.work.start(steps, "", work_number(self._link), self._answered)

    def _answered(self, error: Exception | None) -> None:
        self._questions -= 1
        if error is not None:
            raise error
