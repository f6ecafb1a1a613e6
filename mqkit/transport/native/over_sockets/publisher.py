"""Publishing on one channel of the blocking adapter, pipelined.

    caller ──window──> channel ──> socket            the turn is the caller's own
              └──> outbox, while the broker has blocked the connection; reading goes on

A message has its place in the window from the moment that it is taken until its future is done; on
a channel without confirms, until the system has it, whose own buffer waits for the broker then.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import TypeAlias

from mqkit.message import Message
from mqkit.outcome import Outcome, Unknown
from mqkit.transport.native.channel import NativeChannel
from mqkit.transport.native.connection import NativeConnection
from mqkit.transport.native.over_sockets.answers import Waiters
from mqkit.transport.native.over_sockets.driver import SocketDriver
from mqkit.transport.window_size import MESSAGE_OVERHEAD_BYTES, WindowSize

OUTPUT_OCTETS_MAX = 256 * 1024
"""Octets of publishes after which a turn ends: confirms are read in between."""

_Slot: TypeAlias = tuple[Future[Outcome], int]
"""The future of the outcome, and the bytes that the message takes of the window."""


class BlockingPublisher:
    """:meth:`publish_many` begins turns; all else is called in one."""

    def __init__(self, driver: SocketDriver, channel: NativeChannel, size: WindowSize) -> None:
        self._driver = driver
        self._channel = channel
        self._size = size
        self._messages = 0
        self._bytes = 0
        self._room = Waiters()
        self._outbox: list[tuple[Sequence[Message], list[_Slot]]] = []
        self._unwritten = (0, 0)
        """Places, by messages and bytes, of what the system does not have yet."""

    def publish_many(
        self, messages: Sequence[Message], timeout_s: float | None
    ) -> list[Future[Outcome]]:
        """See :meth:`mqkit.transport.blocking.BlockingChannel.publish_many`."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        futures: list[Future[Outcome]] = [Future() for _ in messages]
        costs = [len(message.body) + MESSAGE_OVERHEAD_BYTES for message in messages]
        position = 0
        while position < len(messages):
            end = self._driver.turn(partial(self._publish, messages, futures, costs, position))
            if end == position and not self._wait_for_room(costs[position], deadline_s):
                _give_up(messages[position:], futures[position:])
                break
            position = end
        return futures

    def unblocked(self) -> None:
        """The broker takes publishes again."""
        outbox, self._outbox = self._outbox, []
        for messages, slots in outbox:
            self._write(messages, slots)

    def closed(self) -> None:
        """The channel is: what was not written yet never will be."""
        self.unblocked()
        self._room.wake()

    # -- inside ------------------------------------------------------------------------------

    def _publish(
        self,
        messages: Sequence[Message],
        futures: Sequence[Future[Outcome]],
        costs: Sequence[int],
        position: int,
        connection: NativeConnection,
    ) -> int:
        """Publish the messages from ``position`` on that have a place in the window; return the
        position after them."""
        end = self._take(costs, position)
        if end > position:
            taken = messages[position:end]
            slots = list(zip(futures[position:end], costs[position:end], strict=True))
            if connection.blocked_reason is None:
                self._write(taken, slots)
            else:
                self._outbox.append((taken, slots))
        return end

    def _take(self, costs: Sequence[int], position: int) -> int:
        """Take places for the next messages: as many as there are, or as one turn writes. Returns
        the position after them. A closed channel takes all, and refuses them."""
        messages, octets = self._messages, self._bytes
        is_open, octets_max = self._channel.is_open, octets + OUTPUT_OCTETS_MAX
        while position < len(costs) and octets < octets_max:
            if is_open and not self._fits(costs[position], messages, octets):
                break
            messages += 1
            octets += costs[position]
            position += 1
        self._messages, self._bytes = messages, octets
        return position

    def _fits(self, cost_bytes: int, messages: int, octets: int) -> bool:
        """True if the window has room beside ``messages`` of ``octets``. A message larger than the
        window goes when it is alone."""
        size = self._size
        return not messages or (messages < size.messages and octets + cost_bytes <= size.bytes)

    def _wait_for_room(self, cost_bytes: int, deadline_s: float | None) -> bool:
        """False when the time was over first. A closed channel has room: for refusals."""

        def has_room() -> bool:
            return not self._channel.is_open or self._fits(cost_bytes, self._messages, self._bytes)

        return self._driver.wait_until(has_room, self._room, deadline_s)

    def _write(self, messages: Sequence[Message], slots: Sequence[_Slot]) -> None:
        position, settled = 0, partial(self._settled, slots)
        while position < len(messages):
            position = self._channel.publish(
                messages, settled, start=position, octets_max=OUTPUT_OCTETS_MAX
            )

    def _settled(self, slots: Sequence[_Slot], position: int, outcomes: Sequence[Outcome]) -> None:
        """``outcomes`` are those of ``slots`` from ``position`` on."""
        settled = slots[position : position + len(outcomes)]
        self._driver.later(_resolve, (settled, outcomes))
        octets = sum([cost_bytes for _, cost_bytes in settled])
        if self._channel.confirms:
            self._give(len(settled), octets)
            return
        if not self._unwritten[0]:
            self._driver.when_written(self._written)
        messages, octets_before = self._unwritten
        self._unwritten = (messages + len(settled), octets_before + octets)

    def _written(self) -> None:
        unwritten, self._unwritten = self._unwritten, (0, 0)
        self._give(*unwritten)

    def _give(self, messages: int, octets: int) -> None:
        self._messages -= messages
        self._bytes -= octets
        self._room.wake()


def _resolve(settled: tuple[Sequence[_Slot], Sequence[Outcome]]) -> None:
    for (future, _), outcome in zip(*settled, strict=True):
        try:
            future.set_result(outcome)
        except InvalidStateError:
            pass  # its caller has cancelled it


def _give_up(messages: Sequence[Message], futures: Sequence[Future[Outcome]]) -> None:
    detail = "not sent: the time ran out while the window was full"
    for message, future in zip(messages, futures, strict=True):
        future.set_result(Unknown(detail, message.properties.message_id, sent=False))
