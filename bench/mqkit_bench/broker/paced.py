"""Paced traffic: an open loop, in which messages are due by the clock, whatever the broker does.

Delays count from when a message was due, not from when it was sent, so a broker that makes the
generator wait is not forgiven (no coordinated omission).
"""

from __future__ import annotations

import select
import time
from dataclasses import dataclass, field

from mqkit_bench.broker.receiver import Receiver
from mqkit_bench.broker.sender import Sender
from mqkit_bench.broker.traffic import Traffic

TICK_S = 0.0005
"""The length of a tick: all messages due within it are due at its beginning, for one write."""
LAG_SHARE = 0.05
"""A broker that is this part of the time behind at the end can't hold the rate."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The moments when messages are due: ``burst`` messages each ``tick_s``, from 0 s on."""

    rate: float
    messages: int

    @property
    def burst(self) -> int:
        return max(1, round(self.rate * TICK_S))

    @property
    def tick_s(self) -> float:
        return self.burst / self.rate

    @property
    def end_s(self) -> float:
        """The end of the last message's tick, in seconds."""
        return -(-self.messages // self.burst) * self.tick_s

    def due(self, passed_s: float) -> int:
        """The number of messages due after ``passed_s``."""
        return min(self.messages, (int(passed_s / self.tick_s) + 1) * self.burst)

    def due_s(self, message: int) -> float:
        """The moment when message number ``message`` (from 0) is due."""
        return message // self.burst * self.tick_s


@dataclass(slots=True)
class Arrivals:
    """When messages arrived, in their order: what had arrived by when."""

    arrived: int = 0
    marks: list[tuple[int, int, float]] = field(default_factory=list)

    def note(self, arrived: int, at_s: float) -> None:
        if arrived > self.arrived:
            self.marks.append((self.arrived, arrived, at_s))
            self.arrived = arrived

    def delays_s(self, schedule: Schedule) -> list[float]:
        """Each message's delay, in ascending order."""
        return sorted(
            at_s - schedule.due_s(message)
            for first, end, at_s in self.marks
            for message in range(first, end)
        )


@dataclass(frozen=True, slots=True)
class Run:
    """``confirms`` and ``deliveries`` of all messages, if ``is_held``; else of those that came."""

    schedule: Schedule
    confirms: Arrivals
    deliveries: Arrivals
    sent: int
    seconds: float
    client_cpu_s: float

    @property
    def is_held(self) -> bool:
        return min(self.confirms.arrived, self.deliveries.arrived) == self.schedule.messages

    @property
    def rate(self) -> float:
        """Messages a second that were both confirmed and delivered."""
        return min(self.confirms.arrived, self.deliveries.arrived) / self.seconds


def run_paced(traffic: Traffic, schedule: Schedule) -> Run:
    """Publish by the schedule on the first connection, receive on the other one.

    What is not there soon after its end is not waited for, but settled: nothing is under way when
    this returns. Raises what :meth:`~mqkit_bench.broker.traffic.Traffic.settle` raises.
    """
    sender, receiver = traffic.senders[0], traffic.receivers[0]
    pacer = _Pacer(sender, receiver, schedule)
    before = traffic.sent
    cpu, started = time.process_time(), time.perf_counter()
    give_up_s = schedule.end_s * (1 + LAG_SHARE)
    while not pacer.is_done and (passed := time.perf_counter() - started) < give_up_s:
        pacer.step(passed, started)
    seconds = time.perf_counter() - started
    cpu_s = time.process_time() - cpu
    sender.take_back()
    traffic.settle()
    sent = traffic.sent - before
    return Run(schedule, pacer.confirms, pacer.deliveries, sent, seconds, cpu_s)


class _Pacer:
    """Counts from where the connections stand."""

    def __init__(self, sender: Sender, receiver: Receiver, schedule: Schedule) -> None:
        self.confirms, self.deliveries = Arrivals(), Arrivals()
        self._sender, self._receiver, self._schedule = sender, receiver, schedule
        self._offered = 0
        self._confirmed_before, self._received_before = sender.confirmed, receiver.received

    @property
    def is_done(self) -> bool:
        messages = self._schedule.messages
        return self.confirms.arrived >= messages and self.deliveries.arrived >= messages

    def step(self, passed_s: float, started: float) -> None:
        """Send what is due; wait for what comes, but not beyond the next tick."""
        sender, receiver = self._sender, self._receiver
        due = self._schedule.due(passed_s)
        if due > self._offered and not sender.blocked:
            sender.offer(due - self._offered)
            self._offered = due
        readable, writable, _ = select.select(
            [sender.socket, receiver.socket],
            [sender.socket] if sender.blocked else [],
            [],
            self._wait_s(started),
        )
        if receiver.socket in readable:
            receiver.receive()
            count = receiver.received - self._received_before
            self.deliveries.note(count, time.perf_counter() - started)
            if receiver.received - receiver.acked >= receiver.ack_every:
                receiver.ack(receiver.received)
        if sender.socket in readable:
            sender.receive()
            count = sender.confirmed - self._confirmed_before
            self.confirms.note(count, time.perf_counter() - started)
        if writable:
            sender.resume()

    def _wait_s(self, started: float) -> float:
        """Seconds until the next tick; one tick where nothing can be sent anyway."""
        if self._sender.blocked or self._offered == self._schedule.messages:
            return TICK_S
        return max(0.0, started + self._schedule.due_s(self._offered) - time.perf_counter())
