"""The load generator: one publisher with a confirm window, one consumer with multiple acks.

Frames are encoded before the run, and the consumer counts by arithmetic. That keeps the generator
several times cheaper than any broker it measures.
"""

from __future__ import annotations

import select
import time
from collections import deque
from dataclasses import dataclass, field

from bench.confirm_counter import ConfirmCounter
from bench.consumer import Consumer, Subscription
from bench.message import publish_frames
from bench.session import Address, Session, receive_some

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
        message = publish_frames(workload.queue, workload.body_bytes)
        self.block = memoryview(message * BLOCK_MESSAGES)
        self.window = workload.confirm_window
        self.socket = session.detach()
        self.sent = 0
        self.latencies_s: list[float] = []
        self._offset = 0
        self._confirms = ConfirmCounter()
        self._marks: deque[tuple[int, float]] = deque()

    @property
    def confirmed(self) -> int:
        return self._confirms.confirmed

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
        self._confirms.feed(receive_some(self.socket))
        now = time.perf_counter()
        while self._marks and self._marks[0][0] <= self.confirmed:
            self.latencies_s.append(now - self._marks.popleft()[1])


def run(address: Address, workload: Workload) -> Measured:
    """Publish for ``seconds``, then drain; the rate counts messages delivered while publishing.

    Raises :exc:`ConnectionError` when the broker closes or answers with anything unexpected, and
    :exc:`TimeoutError` when what was published can't be drained.
    """
    control = Session(address)
    control.declare(workload.queue)
    publisher = Publisher(address, workload)
    consumer = Consumer(
        address,
        Subscription(workload.queue, workload.body_bytes, workload.prefetch, workload.ack_every),
    )
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
