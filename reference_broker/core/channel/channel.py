"""A channel: one sequence of methods, deliveries and confirms on a connection.

It begins OPEN, at channel.open; its state changes only by the table in :mod:`channel_state`.
A :exc:`ChannelException` closes it: channel.close is sent, all it holds goes back to the queues at
once, and its later frames are ignored until close-ok. While an answer waits for the disk (a record
to be synced, a message to be read) it is SUSPENDED: later frames are parked in order (law 5). So it
is while more answers wait for the socket than REPLY_OUTPUT_BYTES_MAX, and while a request takes
more than one turn (law 7) or has to wait until a queue is at rest.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from mqkit.wire import FrameType, encode_method, method_frame
from mqkit.wire.methods import BasicCancel, ChannelClose, ChannelCloseOk, Method
from reference_broker.core.base.limits import UNACKED_MAX
from reference_broker.core.channel.ack_timeout import AckTimeout, timeout_of
from reference_broker.core.channel.cancel_notices import CancelNotices
from reference_broker.core.channel.channel_state import (
    CHANNEL_TRANSITIONS,
    ChannelEvent,
    ChannelState,
)
from reference_broker.core.channel.confirms import ChannelConfirms
from reference_broker.core.channel.consumer import UNLIMITED, Consumer
from reference_broker.core.channel.direct_reply import REPLY_CONSUMER_BYTES
from reference_broker.core.channel.publish_target import Targets
from reference_broker.core.channel.release import release, stop
from reference_broker.core.channel.traffic import traffic_of
from reference_broker.core.channel.transactions import Transaction
from reference_broker.core.index.memory_window import LEASE_BYTES
from reference_broker.core.journal.watermark import Wait
from reference_broker.core.work.task import begun_with
from reference_broker.core.work.until import Agreement, Until
from reference_broker.errors import AmqpError, ChannelException, ConnectionException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.channel.direct_reply import ReplyConsumer
    from reference_broker.core.channel.ports import ChannelBroker, ChannelConnection
    from reference_broker.core.channel.publish_target import PublishAssembly
    from reference_broker.core.channel.release import LeavingConsumers
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.vhost import VHost
    from reference_broker.core.work.task import Steps

CONSUMERS_PER_UNIT = 8
"""To ask a consumer whether it rests takes 0.2 us."""


_METHOD_IDS = struct.Struct(">HH")
CHANNEL_BYTES = 1_600
"""Accounted for each channel: itself, its empty tables and its watch over deliveries."""


class Channel:
    """One open channel. Made by channel.open, and never used again after it is CLOSED.

    ``unacked`` maps delivery tags to leases in order of the tags. ``outstanding`` counts those
    that consumers hold; basic.get's do not count against a prefetch. From ``outstanding_limit`` on
    no consumer gets more, and from ``automatic_limit`` on none without acks, whose deliveries add
    nothing to it.
    """

    __slots__ = (
        "ack_timeout", "acked", "assembly", "automatic_limit", "broker", "confirms", "connection",
        "consumer_bytes", "consumer_prefetch", "consumers", "counted", "delivered_no_ack",
        "drawn_name", "global_prefetch", "got", "got_empty", "got_no_ack", "held_back",
        "is_released", "last_queue_name", "leaving", "next_delivery_tag", "next_woken", "notices",
        "number", "oldest_delivery_tag", "outstanding", "outstanding_limit", "parked", "published",
        "redelivered", "reply_consumer", "returned", "state", "steps_ended", "targets",
        "transaction", "unacked", "unroutable", "vhost", "waiting_bytes",
    )  # fmt: skip

    def __init__(
        self, connection: ChannelConnection, number: int, vhost: VHost, broker: ChannelBroker
    ) -> None:
        self.connection = connection
        self.broker = broker
        self.number = number
        self.vhost = vhost
        self.state = ChannelState.OPEN
        self.notices: CancelNotices | None = None
        """Those that were not sent yet; ``None`` where there never was one."""
        self.consumers: dict[str, Consumer] = {}
        self.consumer_bytes = 0
        self.waiting_bytes = 0
        """Accounted octets of deliveries that have come from other nodes, and wait for room."""
        self.unacked: dict[int, Lease] = {}
        self.next_delivery_tag = 1
        self.oldest_delivery_tag = 1
        self.next_woken = 0
        self.outstanding = 0
        self.outstanding_limit = UNACKED_MAX
        self.automatic_limit = UNLIMITED
        self.consumer_prefetch = 0
        self.global_prefetch = 0
        self.confirms: ChannelConfirms | None = None
        self.transaction: Transaction | None = None
        self.reply_consumer: ReplyConsumer | None = None
        self.assembly: PublishAssembly | None = None
        self.targets = Targets()
        self.parked: deque[tuple[int, bytes]] = deque()
        self.drawn_name = ""  # of a new queue, or what is in a lost one, while nodes are asked
        self.counted = 0
        self.held_back = False
        self.is_released = False
        self.leaving: LeavingConsumers | None = None
        """There while consumers have to leave their queues, as the channel has ended."""
        self.steps_ended: Until | None = None
        """There while the steps of a request are under way."""
        self.last_queue_name = ""
        self.published = self.acked = self.redelivered = 0
        self.returned = self.unroutable = 0
        self.delivered_no_ack = 0
        self.got = self.got_no_ack = self.got_empty = 0
        self.ack_timeout = AckTimeout(self)
        vhost.traffic.channels_opened += 1

    @property
    def memory_bytes(self) -> int:
        """Accounted bytes of what is the channel's. Parked frames are the connection's, and the
        messages of unacked deliveries their queues'."""
        held = CHANNEL_BYTES + self.consumer_bytes + self.waiting_bytes
        held += len(self.unacked) * LEASE_BYTES
        if self.transaction is not None:
            held += self.transaction.unacked * LEASE_BYTES
        if self.assembly is not None:
            held += self.assembly.held_bytes
        if self.reply_consumer is not None:
            held += REPLY_CONSUMER_BYTES
        return held

    # Modes and names

    def select_confirms(self) -> None:
        """Number publishes from now on, and confirm each. Idempotent."""
        if self.confirms is None:
            self.confirms = ChannelConfirms(self)

    def select_transactions(self) -> None:
        """Hold publishes and settlements back until a commit, from now on. Idempotent."""
        if self.transaction is None:
            self.transaction = Transaction(self)
            # Publish targets of a transactional channel are others.
            self.broker.targets.forget(self)

    def note_declared(self, queue_name: str) -> None:
        """Remember the queue that later methods with an empty queue name mean."""
        self.last_queue_name = queue_name

    @property
    def channel(self) -> Channel:
        """The channel itself, as the holder of a lease that basic.get has got."""
        return self

    # Answers

    def reply(self, method: Method) -> None:
        """Send a method now."""
        self.connection.write(method_frame(self.number, method))

    def reply_defined(self, method: Method, *, durable: bool) -> None:
        """Send the -ok of a definition. A ``durable`` one leaves when the definition holds
        (law 3), which may be now; until then the channel is suspended. The definition may be
        another client's that is still on its way, so what counts is everything defined so far."""
        definitions = self.vhost.definitions
        if durable or definitions.shared:
            self._reply_after(definitions.wait(), method)
        else:
            self.reply(method)

    def reply_found(self, method: Method, key: str) -> None:
        """Send the -ok of a passive declaration: the definition ``key`` is there."""
        self._reply_after(self.vhost.definitions.wait_for(key), method)

    def reply_logged(self, method: Method, *, durable: bool) -> None:
        """Send the -ok of what was done to messages: a ``durable`` one when it is on disk. Until
        then the channel is suspended."""
        if durable:
            self._reply_after(Wait(self.vhost.journal.tail), method)
        else:
            self.reply(method)

    def _reply_after(self, wait: Wait, method: Method) -> None:
        ledger = self.broker.ledger
        if not ledger.is_over(wait):
            self._move(ChannelEvent.SUSPEND)
        ledger.promise(wait.position, _SuspendedReply(self, method), wait.marks)

    def tell_cancelled(self, tag: str) -> None:
        """Tell the client of a consumer that the broker has ended; behind the -ok, if one waits."""
        if not self.holds_notices and self.state is not ChannelState.SUSPENDED:
            self.reply(BasicCancel(consumer_tag=tag, nowait=True))
            return
        self.notices = self.notices or CancelNotices(self)
        notice = self.notices.add(tag)
        if not self.notices.are_held:
            position, marks = self.vhost.definitions.wait()
            self.broker.ledger.promise(position, notice, marks)

    def hold_notices(self) -> None:
        """Keep what is to be told until the request has been answered that the channel is suspended
        for. Idempotent."""
        self.notices = self.notices or CancelNotices(self)
        self.notices.are_held = True

    @property
    def holds_notices(self) -> bool:
        """True from :meth:`hold_notices` until the request is answered."""
        return self.notices is not None and self.notices.are_held

    def send_content(self, method: bytes, content: Content) -> None:
        """Send a method, given as its frame's payload, and a message after it."""
        self.connection.write_content(self.number, method, content)

    # basic.get

    def allot_tag(self) -> int:
        """Take the next delivery tag, for a message that no consumer gets."""
        tag = self.next_delivery_tag
        self.next_delivery_tag = tag + 1
        return tag

    def note_got(self, delivery_tag: int, lease: Lease, *, no_ack: bool) -> None:
        """Count a message that basic.get has got; without ``no_ack`` it is unacked from now on."""
        self.redelivered += lease.redelivered
        if no_ack:
            self.got_no_ack += 1
        else:
            self.got += 1
            self.unacked[delivery_tag] = lease

    def note_got_empty(self) -> None:
        """Count a basic.get that found no message."""
        self.got_empty += 1

    # Suspension

    def park(self, kind: int, payload: bytes) -> None:
        """Keep a frame until the channel resumes."""
        self.parked.append((kind, payload))
        self.connection.frame_parked(payload)

    def hold_back(self, kind: int, payload: bytes) -> None:
        """Suspend the channel with its next request, as too many answers wait for the socket: a
        read of a few kilobytes may ask for gigabytes."""
        self._move(ChannelEvent.SUSPEND)
        self.held_back = True
        self.park(kind, payload)
        self.connection.starved = True

    def go_on(self) -> None:
        """Take up the parked frames, as the socket takes more again. Does nothing unless the
        channel was held back."""
        if self.held_back and self.state is ChannelState.SUSPENDED:
            self.held_back = False
            self._move(ChannelEvent.RESUME)
            self._take_parked()

    def handle_again(self, request: Method) -> None:
        """Handle ``request`` anew, before later frames. To be called where the rest of a request
        is done that :meth:`perform` was given."""
        payload = encode_method(request)
        self.parked.appendleft((FrameType.METHOD, payload))
        self.connection.frame_parked(payload)

    def await_head(self, queue: Queue, request: Method) -> None:
        """Suspend the channel until the head of ``queue`` is read; then handle ``request`` again,
        before later frames."""
        self._move(ChannelEvent.SUSPEND)
        self.park(FrameType.METHOD, encode_method(request))
        queue.backlog.await_head(self._head_has_come)

    def _head_has_come(self) -> None:
        if self.state is ChannelState.SUSPENDED:  # and not gone with its connection
            self._move(ChannelEvent.RESUME)
            self._take_parked()

    def await_room(self) -> None:
        """Suspend the channel until the journal has room for its next message, which is parked or
        assembled; it is tried again after each sync."""
        self._move(ChannelEvent.SUSPEND)
        self.connection.has_published = True
        self.broker.waiting_publishers.add(self.room_has_come, self.connection.block_in_alarm)

    def room_has_come(self) -> None:
        """Publish the message that waits for room, as there may be some. Does nothing when the
        channel is gone."""
        if self.state is not ChannelState.SUSPENDED:
            return
        self._move(ChannelEvent.RESUME)
        if self.assembly is not None:
            self.connection.publish_assembled(self, self.assembly)
        self._take_parked()

    def resume(self, method: Method) -> None:
        """Send the answer that was waited for, and take up the parked frames."""
        self._move(ChannelEvent.RESUME)
        self.reply(method)
        self._take_parked()

    def _take_parked(self) -> None:
        """Handle the parked frames, as far as the turn goes. One of them may suspend the channel
        again, or close it and open another of its number."""
        parked, self.parked = self.parked, deque()
        self.connection.take_parked(self, parked)
        self.parked += parked  # the frame that was held back comes first
        if parked and self.state is ChannelState.OPEN:
            self.perform(_pause())
        elif self.notices is not None and self.holds_notices and self.state is ChannelState.OPEN:
            self.notices.release()

    # Work that takes more than a turn

    def perform(
        self,
        steps: Steps,
        then: Callable[[], None] | None = None,
        ids: tuple[int, int] = (0, 0),
    ) -> None:
        """Take the steps of a request, and then do the rest of it. If one turn is too short for
        them, the channel is suspended until they have ended. Class and method ``ids`` are for an
        error that they raise by then."""
        try:
            until = next(steps)
        except StopIteration:
            if then is not None:
                then()
            return
        self.begin_wait()
        begun = begun_with(until, steps)
        ended = partial(self._steps_ended, then, ids)
        self.broker.work.start(begun, self.vhost.name, self.connection.id, ended)

    def begin_wait(self) -> None:
        """Suspend the channel until whoever handles its request calls :meth:`end_wait`."""
        self._move(ChannelEvent.SUSPEND)
        self.connection.channel_waits()
        self.steps_ended = Until()

    def end_wait(self, then: Callable[[], None]) -> None:
        """Go on, with ``then`` first."""
        self._steps_ended(then, (0, 0), None)

    def _steps_ended(
        self, then: Callable[[], None] | None, ids: tuple[int, int], error: Exception | None
    ) -> None:
        ended, self.steps_ended = self.steps_ended, None
        self._go_on_with(then, ids, error)
        self.connection.channel_goes_on()
        if ended is not None:
            ended.happened()

    def _go_on_with(
        self, then: Callable[[], None] | None, ids: tuple[int, int], error: Exception | None
    ) -> None:
        waited = self.state is ChannelState.SUSPENDED  # and is not gone with its connection
        if waited:
            self._move(ChannelEvent.RESUME)
        if isinstance(error, AmqpError):
            if waited:
                self.connection.refuse(self, error, *ids)
        elif error is not None:
            raise error
        elif then is not None:
            then()
        if (self.parked or self.holds_notices) and self.state is not ChannelState.SUSPENDED:
            self._take_parked()  # a channel that was opened behind this one, too

    def wait_until(self, until: Until) -> None:
        """Suspend the channel until something has happened; then handle what is parked or
        assembled, as it was before. A request that the other nodes can't be asked for is
        refused."""
        self._move(ChannelEvent.SUSPEND)
        self.connection.channel_waits()
        until.then(partial(self._has_happened, until))

    def _has_happened(self, until: Until) -> None:
        failure = until.failure if isinstance(until, Agreement) else None
        if failure is None:
            self.room_has_come()
        elif self.state is ChannelState.SUSPENDED:  # and not gone with its connection
            self._move(ChannelEvent.RESUME)
            request = self.parked.popleft()
            self.connection.frames_dropped(deque((request,)))
            self.connection.refuse(self, failure, *_METHOD_IDS.unpack_from(request[1]))
            self._take_parked()
        self.connection.channel_goes_on()

    # The end

    def fail(self, error: ChannelException) -> None:
        """Close the channel for an error. Its frames are ignored until close-ok."""
        self._move(ChannelEvent.FAIL)
        self.reply(
            ChannelClose(
                reply_code=error.code,
                reply_text=error.reply_text,
                class_id=error.class_id,
                method_id=error.method_id,
            )
        )
        stop(self)
        self.broker.work.start(release([self]), self.vhost.name, self.connection.id)

    def close(self) -> None:
        """Close the channel for the client, with close-ok when all is given back."""
        stop(self)
        self.perform(release([self]), self._closed)

    def _closed(self) -> None:
        if self.state is ChannelState.OPEN:
            self.reply(ChannelCloseOk())
            self._move(ChannelEvent.CLOSE)
            self.connection.free_channel(self.number)
            self.let_go()

    def close_ok(self) -> None:
        """End a channel whose client has answered the broker's channel.close: the number is
        free."""
        self._move(ChannelEvent.CLOSE_OK)
        self.let_go()

    def connection_gone(self) -> None:
        """End the channel with its connection, which counts it and gives back what it holds."""
        self.state = CHANNEL_TRANSITIONS.after(self.state, ChannelEvent.CONNECTION_GONE)
        stop(self)

    def let_go(self) -> None:
        """Let go of what refers to the channel, if it is CLOSED and has given all back: it is freed
        by its reference count, and does not wait for the garbage collector."""
        if self.state is not ChannelState.CLOSED or not self.is_released:
            return
        self.confirms = self.transaction = self.notices = None
        self.ack_timeout.cut_off()

    def _move(self, event: ChannelEvent) -> None:
        self.state = CHANNEL_TRANSITIONS.after(self.state, event)
        if self.state is ChannelState.CLOSED:  # from which nothing leads away
            self.vhost.traffic.channels_ended(1, traffic_of(self))

    # Consumers and prefetch

    def add_consumer(self, consumer: Consumer) -> None:
        """Know a consumer by its tag, which is free, and watch how long its deliveries take."""
        self.consumers[consumer.tag] = consumer
        self.consumer_bytes += consumer.memory_bytes
        if not consumer.no_ack:
            self.ack_timeout.watch(timeout_of(self, consumer, consumer.queue))

    def forget_consumer(self, tag: str) -> bool:
        """The consumer of that tag is cancelled; false when there is none. Idempotent."""
        consumer = self.consumers.pop(tag, None)
        if consumer is None:
            return False
        self.consumer_bytes -= consumer.memory_bytes
        return True

    def limit_new_consumers(self, prefetch: int) -> None:
        """basic.qos without global, as in RabbitMQ: a prefetch for each consumer that is still to
        come, in place of the channel's own; 0 is none."""
        self.consumer_prefetch = prefetch
        if self.global_prefetch:
            self.limit_outstanding(0)

    def settled(self, count: int = 1) -> None:
        """Do nothing: deliveries of basic.get count against no prefetch."""

    def limit_outstanding(self, global_prefetch: int) -> None:
        """basic.qos with global: a prefetch for the channel as a whole; 0 is none."""
        self.global_prefetch = global_prefetch
        self.automatic_limit = global_prefetch or UNLIMITED
        self.outstanding_limit = min(self.automatic_limit, UNACKED_MAX)
        self.wake_consumers()

    def wake_consumers(self, behind: Consumer | None = None) -> None:
        """Wake all consumers, as they may have capacity, and have their queues look again: first
        those ``behind`` the one that had the room. So it goes round all that have something."""
        consumers = list(self.consumers.values())
        self.vhost.budget.left -= len(consumers) // CONSUMERS_PER_UNIT
        if behind is not None and self.consumers.get(behind.tag) is behind:
            self.next_woken = consumers.index(behind)
        first = self.next_woken = (self.next_woken + 1) % (len(consumers) or 1)
        self.vhost.mark_in_turn(
            [
                each.queue
                for each in consumers[first:] + consumers[:first]
                if each.queue.rotation.wake(each) or each.queue.dirty
            ]
        )


def _pause() -> Steps:
    """Steps that end in the next turn."""
    yield None


class _SuspendedReply:
    """The promise to answer a suspended channel, and to resume it."""

    __slots__ = ("_channel", "_method")

    def __init__(self, channel: Channel, method: Method) -> None:
        self._channel = channel
        self._method = method

    def kept(self) -> None:
        channel = self._channel
        if channel.state is ChannelState.SUSPENDED:
            channel.resume(self._method)
        elif channel.state is ChannelState.OPEN:
            channel.reply(self._method)

    def broken(self) -> None:
        if self._channel.state in (ChannelState.OPEN, ChannelState.SUSPENDED):
            error = ConnectionException(ReplyCode.INTERNAL_ERROR, "the disk failed")
            self._channel.connection.fail(error)
