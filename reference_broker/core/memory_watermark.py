"""The memory watermark: the bytes that the broker holds for its clients are counted, and at two
marks something is done about them.

    half of the watermark   messages leave memory: windows shrink, what is not on disk goes to pages
    the watermark           publishers are stopped (the memory alarm)

What is accounted is what the broker holds for its clients, and not the process's RSS, which does
not fall in CPython when messages go. Counting (:mod:`memory_count`) and the leaving of messages are
done in portions: each ends when the budget of its turn is spent, and goes on in a later one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reference_broker.core.alarms import Alarm
from reference_broker.core.index.memory_window import RESIDENT_TOTAL_BYTES
from reference_broker.core.memory_count import MemoryCount

if TYPE_CHECKING:
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.broker import Broker

COUNTS_PER_WATERMARK = 32
"""Memory is counted when this part of the watermark was received: at most 3 % over it."""

COUNT_INTERVAL_S = 0.1
"""Seconds between two counts while the memory alarm is on, or while more messages can leave
memory."""

PORTION_INTERVAL_S = 0.01
"""Seconds between two portions of a count that one turn was too short for."""

SHORT_INTERVAL_S = 1.0
"""Seconds between two counts while memory is short, and nothing is to be done but to see when it is
enough."""

PAGING_RATIO = 0.5
"""Part of the watermark from which on messages leave memory, as in RabbitMQ."""

RELIEVED_RATIO = 0.35
"""Part of the watermark below which memory is enough again. It is lower than PAGING_RATIO by more
than the windows that then fill anew."""

WINDOWS_PER_WATERMARK = 8
"""All windows together are this part of a watermark that is lower than the default."""

NARROWING = 4
"""While memory is short, windows are this part of what they are otherwise."""


class MemoryWatermark:
    """Counts the bytes held by all queues and connections, each time a fraction of the watermark
    has been received, and at short intervals while there is something to do: that costs a busy
    broker nearly nothing, and may be late by the fraction.

    ``beside`` are accounts of what others hold for clients around the core, by their names.
    """

    def __init__(self, broker: Broker, watermark_bytes: int) -> None:
        self._broker = broker
        self._received_bytes = 0
        self._out_of_reach = False
        self._set(watermark_bytes)
        self._short = False
        self._next_count: Deadline | None = None
        self._count: MemoryCount | None = None
        self._relief: Relief | None = None
        self._asking: list[Callable[[int], None]] = []
        self.beside: dict[str, Callable[[], int]] = {}

    def _set(self, watermark_bytes: int) -> None:
        self.watermark_bytes = watermark_bytes
        self._step_bytes = max(1, watermark_bytes // COUNTS_PER_WATERMARK)

    def change(self, watermark_bytes: int, process_bytes: int) -> None:
        """Take over another watermark, which an operator has set. Call it within an input. Below
        ``process_bytes``, what the process takes anyway, the alarm is on until the next change, as
        it is in RabbitMQ, whose watermark is of the process."""
        self._set(watermark_bytes)
        self._out_of_reach = watermark_bytes < process_bytes
        self._begin()

    def received(self, size: int) -> None:
        """Count ``size`` bytes that clients sent, once they are handled."""
        self._received_bytes += size
        if self._received_bytes >= self._step_bytes and not (self._count or self._relief):
            self._begin()

    def ask(self, answer: Callable[[int], None]) -> None:
        """Have everything counted, and ``answer`` called with the bytes: now, or in a later turn.
        Call it within an input."""
        self._asking.append(answer)
        if self._count is None:
            self._begin()

    def _begin(self) -> None:
        self._received_bytes = 0
        self._relief = None
        self._count = MemoryCount(self._broker)
        self._continue()

    def _continue(self) -> None:
        if not self.advance():
            self._in(PORTION_INTERVAL_S)

    def _in(self, delay_s: float) -> None:
        if self._next_count is not None:
            self._next_count.cancel()
        step = self._continue if self._count or self._relief else self._begin
        self._next_count = self._broker.after(delay_s, step)

    def advance(self) -> bool:
        """Go on with a count, and with what follows from it, until the budget is spent. True when
        nothing is left to be done until the next one."""
        if self._count is not None:
            if not self._count.advance():
                return False
            self._counted(self._count)
        if self._relief is not None:
            done = self._relief.advance()
            self._set_alarm(self._relief)
            if not done:
                return False
            self._relieved(self._relief)
        return True

    def _counted(self, count: MemoryCount) -> None:
        broker, watermark = self._broker, self.watermark_bytes
        self._count = None
        held = count.held_bytes + sum([held_bytes() for held_bytes in self.beside.values()])
        self._short = held > watermark * (RELIEVED_RATIO if self._short else PAGING_RATIO)
        total = min(RESIDENT_TOTAL_BYTES, watermark // WINDOWS_PER_WATERMARK)
        narrowing = NARROWING if self._short else 1
        broker.window.size_bytes = count.demands.fair_window(total // narrowing, narrowing)
        # Twice what can have come in since the last count.
        self._relief = Relief(broker, count, held, 2 * self._step_bytes, paging=self._short)
        asking, self._asking = self._asking, []
        for answer in asking:
            answer(held)

    def _set_alarm(self, relief: Relief) -> None:
        if self._exceeded(relief):
            self._broker.alarms.sound(Alarm.MEMORY)
        else:
            self._broker.alarms.clear(Alarm.MEMORY)

    def _exceeded(self, relief: Relief) -> bool:
        held = relief.held_bytes - relief.freed_bytes
        return self._out_of_reach or held > self.watermark_bytes

    def _relieved(self, relief: Relief) -> None:
        self._relief = None
        if self._exceeded(relief) or relief.is_enough:
            self._in(COUNT_INTERVAL_S)
        elif self._short:
            self._in(SHORT_INTERVAL_S)


class Relief:
    """The leaving of messages beyond the windows, those of the largest queues first, until
    ``wanted_bytes`` are free. ``held_bytes`` is what a count has found. See :meth:`Backlog.shed`.
    """

    __slots__ = ("_budget", "_largest", "_paging", "_wanted_bytes", "freed_bytes", "held_bytes")

    def __init__(
        self,
        broker: Broker,
        count: MemoryCount,
        held_bytes: int,
        wanted_bytes: int,
        *,
        paging: bool,
    ) -> None:
        self._budget = broker.budget
        self._largest = [queue for _, queues in sorted(count.largest.items()) for queue in queues]
        self._wanted_bytes = wanted_bytes
        self._paging = paging
        self.held_bytes = held_bytes
        self.freed_bytes = 0

    @property
    def is_enough(self) -> bool:
        """As much is free as was wanted."""
        return self.freed_bytes >= self._wanted_bytes

    def advance(self) -> bool:
        """Go on until the budget is spent. True when it is enough, or no queue is left."""
        budget, largest = self._budget, self._largest
        while largest and not self.is_enough:
            if budget.left <= 0:
                return False
            wanted_bytes = self._wanted_bytes - self.freed_bytes
            self.freed_bytes += largest[-1].backlog.shed(wanted_bytes, paging=self._paging)
            if budget.left > 0:
                largest.pop()
        return True


def held_bytes(broker: Broker) -> int:
    """Bytes that the broker holds for its clients, counted at once: for tests, and for whoever has
    the time."""
    return MemoryCount(broker).whole()


def shrink_emptied(broker: Broker) -> None:
    """Free the tables of queues that have no message in memory any more: a dict stays as large as
    it ever was (41 bytes a message) until it is cleared."""
    for queue in broker.queues_by_id.values():
        if not queue.contents:
            queue.contents.clear()
