"""Publishing on one channel of the blocking adapter, pipelined.

    caller ──window──> channel ──> socket            the turn is the caller's own
              └──> outbox, while the broker has blocked the connection; reading goes on

A message has its place in the window from the moment that it is taken until its future is done; on
a channel without confirms, until the system has it, whose own buffer waits for the broker then.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from mqkit.message import Message
from mqkit.outcome import Outcome, Unknown
from mqkit.transport.native.channel import NativeChannel
from mqkit.transport.native.connection import NativeConnection
from mqkit.transport.native.over_sockets.driver import SocketDriver
from mqkit.transport.seam import OnSettled
from mqkit.transport.waiters import Waiters
from mqkit.transport.window_size import MESSAGE_OVERHEAD_BYTES, WindowSize

OUTPUT_OCTETS_MAX = 256 * 1024
"""Octets of publishes after which a turn ends: confirms are read in between."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Messages that were handed over together."""

    messages: Sequence[Message]
    on_settled: OnSettled
    ends: Sequence[int]
    """The bytes of the window that the messages before each position take, and all of them."""

    def bytes_of(self, position: int, end: int) -> int:
        """The bytes that the messages from ``position`` to before ``end`` take."""
        return self.ends[end] - self.ends[position]


class BlockingPublisher:
    """:meth:`publish_many` and :meth:`publish_run` begin turns; all else is called in one."""

    def __init__(self, driver: SocketDriver, channel: NativeChannel, size: WindowSize) -> None:
        self._driver = driver
        self._channel = channel
        self._size = size
        self._messages = 0
        self._bytes = 0
        self._room = Waiters()
        self._outbox: list[tuple[_Run, int, int]] = []
        """Runs, each with the positions of what was taken of it: the first, and the end."""
        self._unwritten = (0, 0)
        """Places, by messages and bytes, of what the system does not have yet."""

    def publish_many(
        self, messages: Sequence[Message], timeout_s: float | None
    ) -> list[Future[Outcome]]:
        """See :meth:`mqkit.transport.blocking.BlockingChannel.publish_many`."""
        futures: list[Future[Outcome]] = [Future() for _ in messages]
        self.publish_run(messages, partial(_resolve, futures), timeout_s)
        return futures

    def publish_run(
        self, messages: Sequence[Message], on_settled: OnSettled, timeout_s: float | None
    ) -> None:
        """See :meth:`mqkit.transport.blocking.BlockingChannel.publish_run`."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        costs = [len(message.body) + MESSAGE_OVERHEAD_BYTES for message in messages]
        run = _Run(messages, on_settled, list(accumulate(costs, initial=0)))
        position = 0
        while position < len(messages):
            end = self._driver.turn(partial(self._publish, run, position))
            if end == position and not self._wait_for_room(costs[position], deadline_s):
                on_settled(position, [_not_sent(message) for message in messages[position:]])
                break
            position = end

    def unblocked(self) -> None:
        """The broker takes publishes again."""
        outbox, self._outbox = self._outbox, []
        for run, position, end in outbox:
            self._write(run, position, end)

    def closed(self) -> None:
        """The channel is: what was not written yet never will be."""
        self.unblocked()
        self._room.wake()

    # -- inside ------------------------------------------------------------------------------

    def _publish(self, run: _Run, position: int, connection: NativeConnection) -> int:
        """Publish the messages from ``position`` on that have a place in the window; return the
        position after them."""
        end = self._room_for(run, position)
        if end > position:
            self._messages += end - position
            self._bytes += run.bytes_of(position, end)
            if connection.blocked_reason is None:
                self._write(run, position, end)
            else:
                self._outbox.append((run, position, end))
        return end

    def _room_for(self, run: _Run, position: int) -> int:
        """The position after the next messages that may go: as many as there are, or as one turn
        writes. A closed channel takes all, and refuses them."""
        ends, before = run.ends, run.ends[position]
        last = len(run.messages)
        of_a_turn = min(last, bisect_left(ends, before + OUTPUT_OCTETS_MAX, position))
        if not self._channel.is_open:
            return of_a_turn
        size = self._size
        by_bytes = bisect_right(ends, before + size.bytes - self._bytes, position) - 1
        fitting = min(of_a_turn, by_bytes, position + size.messages - self._messages)
        if self._messages:
            return max(position, fitting)
        return max(position + 1, fitting)  # one larger than the window goes when it is alone

    def _fits(self, cost_bytes: int) -> bool:
        """True if the window has room for a message. One larger than the window goes when it is
        alone."""
        size, messages = self._size, self._messages
        return not messages or (messages < size.messages and self._bytes + cost_bytes <= size.bytes)

    def _wait_for_room(self, cost_bytes: int, deadline_s: float | None) -> bool:
        """False when the time was over first. A closed channel has room: for refusals."""

        def has_room() -> bool:
            return not self._channel.is_open or self._fits(cost_bytes)

        return self._driver.wait_until(has_room, self._room, deadline_s)

    def _write(self, run: _Run, position: int, end: int) -> None:
        messages = run.messages[position:end]
        start, settled = 0, partial(self._settled, run, position)
        while start < len(messages):
            start = self._channel.publish(
                messages, settled, start=start, octets_max=OUTPUT_OCTETS_MAX
            )

    def _settled(self, run: _Run, first: int, position: int, outcomes: Sequence[Outcome]) -> None:
        """``outcomes`` are those of the messages of ``run`` from ``first + position`` on."""
        position += first
        self._driver.later(_tell, (run.on_settled, position, outcomes))
        octets = run.bytes_of(position, position + len(outcomes))
        if self._channel.confirms:
            self._give(len(outcomes), octets)
            return
        if not self._unwritten[0]:
            self._driver.when_written(self._written)
        messages, octets_before = self._unwritten
        self._unwritten = (messages + len(outcomes), octets_before + octets)

    def _written(self) -> None:
        unwritten, self._unwritten = self._unwritten, (0, 0)
        self._give(*unwritten)

    def _give(self, messages: int, octets: int) -> None:
        self._messages -= messages
        self._bytes -= octets
        self._room.wake()


def _tell(settled: tuple[OnSettled, int, Sequence[Outcome]]) -> None:
    on_settled, position, outcomes = settled
    on_settled(position, outcomes)


def _resolve(
    futures: Sequence[Future[Outcome]], position: int, outcomes: Sequence[Outcome]
) -> None:
    settled = futures[position : position + len(outcomes)]
    for future, outcome in zip(settled, outcomes, strict=True):
        try:
            future.set_result(outcome)
        except InvalidStateError:
            pass  # its caller has cancelled it


def _not_sent(message: Message) -> Outcome:
    detail = "not sent: the time ran out while the window was full"
    return Unknown(detail, message.properties.message_id, sent=False)
