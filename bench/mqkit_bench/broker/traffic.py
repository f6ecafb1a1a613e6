"""Traffic: all connections of a scenario in one poll loop, which moves messages and counts them."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from mqkit_bench.broker.receiver import Receiver
from mqkit_bench.broker.scenario import Scenario
from mqkit_bench.broker.sender import Sender, TimedSender, middle
from mqkit_bench.report import Discrepancy

POLL_S = 0.05
STALL_S = 60.0
"""No confirm, delivery or ack for this long means that none will come."""
SENDS_PER_WINDOW = 16
"""A sender waits until so large a part of its window is free, so that sends stay few."""


@dataclass(frozen=True, slots=True)
class Passed:
    """The result of one run: every message was sent, and confirmed, delivered and acked where the
    scenario says so, within ``seconds``, which is what ``rate`` is over."""

    messages: int
    seconds: float
    client_cpu_s: float
    confirm_ms: float | None = None
    """The median wait for a confirm, where the scenario times it."""

    @property
    def rate(self) -> float:
        return self.messages / self.seconds


class Traffic:
    """Call :meth:`run` for each round, then :meth:`finish` once. The caller closes it."""

    def __init__(
        self, scenario: Scenario, senders: Sequence[Sender], receivers: Sequence[Receiver]
    ) -> None:
        self._scenario = scenario
        self.senders = senders
        self.receivers = receivers
        self._block = max(1, scenario.window // SENDS_PER_WINDOW)
        self._sending = {sender.socket.fileno(): sender for sender in senders}
        self._receiving = {receiver.socket.fileno(): receiver for receiver in receivers}
        self._poll = select.epoll()
        for descriptor in (*self._sending, *self._receiving):
            self._poll.register(descriptor, select.EPOLLIN)

    def run(self, seconds: float) -> Passed:
        """Publish for so long, then wait until all has arrived. A run in which nothing was sent
        goes on to the first message.

        Raises :exc:`Discrepancy` when messages are missing, or some too many, and
        :exc:`ConnectionError` when the broker closes a connection or nacks.
        """
        before, cpu = self.sent, time.process_time()
        started = time.perf_counter()
        until = started + seconds
        while time.perf_counter() < until or self.sent == before:
            self._offer()
            self._turn()
        for sender in self.senders:
            sender.take_back()
        self.settle()
        passed = time.perf_counter() - started
        cpu_s = time.process_time() - cpu
        return Passed(self.sent - before, passed, cpu_s, self._confirm_ms())

    def _confirm_ms(self) -> float | None:
        timed = [sender for sender in self.senders if isinstance(sender, TimedSender)]
        return 1000 * middle(wait for each in timed for wait in each.waits()) if timed else None

    def learn(self) -> None:
        """Send one message, to see what a delivery looks like on this broker."""
        self.senders[0].offer(1)
        for receiver in self.receivers:
            receiver.learn()
        self.settle()

    def finish(self) -> None:
        """Close the consumers' channels, so that what was not acked is in its queue again."""
        for receiver in self.receivers:
            receiver.finish()

    def close(self) -> None:
        with ExitStack() as stack:
            stack.callback(self._poll.close)
            for sender in self.senders:
                stack.callback(sender.close)
            for receiver in self.receivers:
                stack.callback(receiver.close)

    @property
    def sent(self) -> int:
        return sum(sender.sent for sender in self.senders)

    @property
    def confirmed(self) -> int:
        return sum(sender.confirmed for sender in self.senders)

    @property
    def received(self) -> int:
        return sum(receiver.received for receiver in self.receivers)

    @property
    def acked(self) -> int:
        return sum(receiver.acked for receiver in self.receivers)

    def _offer(self) -> None:
        """Offer the senders as many messages as the windows allow."""
        if not self._scenario.confirms:
            under_way = self.sent - self.received // self._scenario.copies
        for sender in self.senders:
            if self._scenario.confirms:
                under_way = sender.sent - sender.confirmed
            room = self._scenario.window - under_way
            if room >= self._block and not sender.blocked:
                sender.offer(room)
                under_way += room
                if sender.blocked:
                    self._watch(sender)

    def _turn(self) -> None:
        """Handle whatever the sockets have, or wait a little for it."""
        for descriptor, event in self._poll.poll(POLL_S):
            receiver = self._receiving.get(descriptor)
            if receiver is not None:
                receiver.receive()
                self._ack(receiver)
            else:
                self._serve(self._sending[descriptor], event)

    def _serve(self, sender: Sender, event: int) -> None:
        if event & ~select.EPOLLOUT:
            sender.receive()
            if self._scenario.backlog:  # acks waited for these confirms
                for receiver in self.receivers:
                    self._ack(receiver)
        if event & select.EPOLLOUT:
            sender.resume()
            self._watch(sender)

    def _watch(self, sender: Sender) -> None:
        blocked = select.EPOLLOUT if sender.blocked else 0
        self._poll.modify(sender.socket.fileno(), select.EPOLLIN | blocked)

    def _ack(self, receiver: Receiver, *, at_once: bool = False) -> None:
        """Ack what came, beside a standing backlog no more than was confirmed."""
        done = receiver.received
        if self._scenario.backlog:
            done = min(done, self.confirmed)
        if at_once or done - receiver.acked >= receiver.ack_every:
            receiver.ack(done)

    def settle(self) -> None:
        """Wait until all that was sent has arrived, and not one more. Raises :exc:`Discrepancy`."""
        for sender in self.senders:
            self._watch(sender)  # one may have been blocked by others than this loop
        seen, since = -1, time.perf_counter()
        while True:
            if self._is_delivered():
                for receiver in self.receivers:
                    self._ack(receiver, at_once=True)
            if self._is_settled():
                return
            self._turn()
            now = time.perf_counter()
            progress = self.sent + self.confirmed + self.received + self.acked
            if progress != seen:
                seen, since = progress, now
            elif now - since > STALL_S:
                raise Discrepancy(
                    f"{self._scenario.name}: sent {self.sent:,}, confirmed {self.confirmed:,},"
                    f" received {self.received:,}, acked {self.acked:,}"
                )

    @property
    def _awaited(self) -> int:
        return 0 if self._scenario.is_one_way else self.sent * self._scenario.copies

    def _is_delivered(self) -> bool:
        return self.received >= self._awaited

    def _is_settled(self) -> bool:
        """Raises :exc:`Discrepancy` for more deliveries than were published."""
        if not all(sender.is_idle for sender in self.senders):
            return False
        if self._scenario.confirms and self.confirmed < self.sent:
            return False
        if not self._scenario.backlog and self.received > self._awaited:
            raise Discrepancy(
                f"{self._scenario.name}: {self._awaited:,} deliveries awaited,"
                f" {self.received:,} came"
            )
        if not self._is_delivered():
            return False
        acking = [receiver for receiver in self.receivers if receiver.ack_every]
        acked = sum(receiver.acked for receiver in acking)
        return (not acking or acked == self._awaited) and (
            bool(self._scenario.backlog) or all(receiver.is_whole for receiver in self.receivers)
        )
