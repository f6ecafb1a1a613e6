"""The load generator: one publisher with a confirm window, one consumer with multiple acks.

Frames are encoded before the run. The consumer counts by arithmetic: every delivery of the run has
the same length, so messages = bytes / length, and the delivery tag at the end of the stream checks
the sum. That keeps the generator several times cheaper than any broker it measures.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass, field

from bench.session import Address, Session
from mqkit import wire
from mqkit.wire import methods

CONSUMER_TAG = "bench"
ACK_FRAME = struct.Struct(">BHIHHQBB")
"""basic.ack as a whole frame: the only thing a publisher's socket receives during the run."""
BASIC_ACK = (60, 80)
RECEIVE_BYTES = 1 << 18
BLOCK_MESSAGES = 32
"""Messages written by one send: the unit of the window and of a latency sample."""
DRAIN_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Workload:
    """What is published, and how much of it may be under way."""

    seconds: float = 5.0
    body_bytes: int = 1024
    confirm_window: int = 2048
    prefetch: int = 2048
    ack_every: int = 128
    queue: str = "bench"


@dataclass(slots=True)
class Measured:
    """What one run came to. Latencies are seconds from send to confirm, one per block."""

    messages: int = 0
    seconds: float = 0.0
    client_cpu_s: float = 0.0
    confirm_latencies_s: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.messages / self.seconds

    def latency_ms(self, quantile: float) -> float:
        ordered = sorted(self.confirm_latencies_s)
        return 1000 * ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]


class Publisher:
    """Sends blocks while the confirm window has room."""

    def __init__(self, address: Address, workload: Workload) -> None:
        session = Session(address)
        session.confirms()
        properties = wire.Properties(delivery_mode=2, message_id="0" * 16)
        message = wire.content_frames(
            1,
            methods.BasicPublish(exchange="", routing_key=workload.queue),
            properties,
            b"m" * workload.body_bytes,
            131_072,
        )
        self.block = memoryview(message * BLOCK_MESSAGES)
        self.window = workload.confirm_window
        self.socket = session.detach()
        self.sent = 0
        self.confirmed = 0
        self.latencies_s: list[float] = []
        self._offset = 0
        self._tail = b""
        self._ahead: set[int] = set()
        self._marks: deque[tuple[int, float]] = deque()

    def wants_to_send(self) -> bool:
        return self.wants_to_finish() or self.sent + BLOCK_MESSAGES - self.confirmed <= self.window

    def wants_to_finish(self) -> bool:
        """A block was begun and has to be ended."""
        return bool(self._offset)

    def send(self, *, may_start: bool) -> None:
        """Write until the socket or the window is full; a block that was begun is always ended."""
        while self._offset or (may_start and self.wants_to_send()):
            try:
                self._offset += self.socket.send(self.block[self._offset :])
            except BlockingIOError:
                return
            if self._offset == len(self.block):
                self._offset = 0
                self.sent += BLOCK_MESSAGES
                self._marks.append((self.sent, time.perf_counter()))

    def receive(self) -> None:
        """Count confirms; multiple or single, in any order."""
        data = self._tail + _receive(self.socket)
        whole = len(data) - len(data) % ACK_FRAME.size
        for _, _, _, class_id, method_id, tag, multiple, _ in ACK_FRAME.iter_unpack(data[:whole]):
            if (class_id, method_id) != BASIC_ACK:
                raise ConnectionError(f"expected basic.ack, got method {class_id}.{method_id}")
            self._confirm(tag, bool(multiple))
        self._tail = data[whole:]
        now = time.perf_counter()
        while self._marks and self._marks[0][0] <= self.confirmed:
            self.latencies_s.append(now - self._marks.popleft()[1])

    def _confirm(self, tag: int, multiple: bool) -> None:
        if multiple:
            self.confirmed = max(self.confirmed, tag)
        else:
            self._ahead.add(tag)
        while self.confirmed + 1 in self._ahead:
            self.confirmed += 1
            self._ahead.discard(self.confirmed)


class Consumer:
    """Counts deliveries by their bytes and acks every ``ack_every`` with ``multiple``."""

    def __init__(self, address: Address, workload: Workload) -> None:
        session = Session(address)
        session.consume(workload.queue, workload.prefetch, CONSUMER_TAG)
        deliver = methods.BasicDeliver(
            consumer_tag=CONSUMER_TAG, delivery_tag=1, exchange="", routing_key=workload.queue
        )
        properties = wire.Properties(delivery_mode=2, message_id="0" * 16)
        body = b"m" * workload.body_bytes
        self.message_bytes = len(wire.content_frames(1, deliver, properties, body, 131_072))
        self.ack_every = workload.ack_every
        self.socket = session.detach()
        self.received_bytes = 0
        self.acked = 0
        self._unsent = b""

    @property
    def received(self) -> int:
        return self.received_bytes // self.message_bytes

    def receive(self) -> None:
        self.received_bytes += len(_receive(self.socket))
        if self.received - self.acked >= self.ack_every:
            self.ack()

    def ack(self) -> None:
        """Ack all that was received. Called once more at the end, for the remainder."""
        if self.received > self.acked:
            self.acked = self.received
            self._unsent += wire.method_frame(1, methods.BasicAck(self.acked, multiple=True))
        if self._unsent:
            try:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
            except BlockingIOError:
                return


def _receive(source: socket.socket) -> bytes:
    try:
        data = source.recv(RECEIVE_BYTES)
    except BlockingIOError:
        return b""
    if not data:
        raise ConnectionError("the broker closed the connection during the run")
    return data


def run(address: Address, workload: Workload) -> Measured:
    """Publish for ``seconds``, then drain; the rate counts messages delivered while publishing.

    Raises :exc:`ConnectionError` when the broker closes or answers with anything unexpected, and
    :exc:`TimeoutError` when what was published can't be drained.
    """
    control = Session(address)
    control.declare(workload.queue)
    publisher, consumer = Publisher(address, workload), Consumer(address, workload)
    measured = Measured()
    cpu_before = time.process_time()
    started = time.perf_counter()
    try:
        _pump(publisher, consumer, started + workload.seconds)
        measured.seconds = time.perf_counter() - started
        measured.messages = consumer.received
        measured.client_cpu_s = time.process_time() - cpu_before
        _drain(publisher, consumer)
    finally:
        publisher.socket.close()
        consumer.socket.close()
        control.delete(workload.queue)
        control.close()
    measured.confirm_latencies_s = publisher.latencies_s
    if consumer.received_bytes != publisher.sent * consumer.message_bytes:
        raise ConnectionError(
            f"sent {publisher.sent} messages, received {consumer.received_bytes} bytes of"
            f" {consumer.message_bytes} each: not the same"
        )
    return measured


def _pump(publisher: Publisher, consumer: Consumer, until: float) -> None:
    poll = select.poll()
    poll.register(publisher.socket, select.POLLIN | select.POLLOUT)
    poll.register(consumer.socket, select.POLLIN)
    sending = True
    while time.perf_counter() < until:
        if sending != publisher.wants_to_send():
            sending = not sending
            events = select.POLLIN | (select.POLLOUT if sending else 0)
            poll.modify(publisher.socket, events)
        for descriptor, event in poll.poll(100):
            if descriptor == consumer.socket.fileno():
                consumer.receive()
            else:
                if event & select.POLLIN:
                    publisher.receive()
                publisher.send(may_start=True)


def _drain(publisher: Publisher, consumer: Consumer) -> None:
    deadline = time.perf_counter() + DRAIN_TIMEOUT_S
    while True:
        publisher.send(may_start=False)
        done = publisher.confirmed == publisher.sent and consumer.received >= publisher.sent
        if done and not publisher.wants_to_finish():
            consumer.ack()
            return
        if time.perf_counter() > deadline:
            raise TimeoutError(
                f"not drained in {DRAIN_TIMEOUT_S:.0f} s: sent {publisher.sent},"
                f" confirmed {publisher.confirmed}, received {consumer.received}"
            )
        readable, _, _ = select.select([publisher.socket, consumer.socket], [], [], 0.05)
        if publisher.socket in readable:
            publisher.receive()
        if consumer.socket in readable:
            consumer.receive()
        elif consumer.acked < consumer.received:
            consumer.ack()
