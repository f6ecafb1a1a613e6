"""The channel pool: at most so many confirm channels, borrowed and given back.

A borrowed channel belongs to its borrower alone. One that comes back with confirms outstanding is
lent again only when they have come; one that is broken, or whose confirms do not come, is replaced.
The decisions are :func:`mqkit.pool.assignment.assign`; this file carries them out.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mqkit.errors import Closed, DeadlineExceeded, MqkitError, PoolExhausted
from mqkit.pool.assignment import SLOT_TRANSITIONS, SlotState, assign
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.transport.seam import Channel

_LOG = logging.getLogger(__name__)

CHANNELS_MAX_DEFAULT = 8
"""A RabbitMQ channel is a process of its own: a few use all cores, and hundreds help nobody."""

BORROW_TIMEOUT_S = 15.0
SETTLE_TIMEOUT_S = 10.0
"""Confirms take one disk sync, or a few; what is not confirmed after this long is in doubt."""

OpenChannel = Callable[[], Awaitable[Channel]]
"""Opens a confirm channel, waiting for a connection if there is none."""


@dataclass(frozen=True, slots=True)
class Loan:
    """A channel that is lent now: where it was taken, and for how long it has been out."""

    taken_at: str
    held_s: float

    def __str__(self) -> str:
        return f"{self.taken_at} ({self.held_s:.1f} s ago)"


class _Slot:
    """A place in the pool, and the channel in it."""

    __slots__ = ("channel", "state", "taken_at", "taken_s")

    def __init__(self) -> None:
        self.state = SlotState.OPENING
        self.channel: Channel | None = None
        self.taken_at = ""
        self.taken_s = 0.0

    @property
    def is_open(self) -> bool:
        return self.channel is not None and self.channel.is_open

    @property
    def is_quiescent(self) -> bool:
        return self.channel is not None and self.channel.unconfirmed == 0

    def move(self, state: SlotState) -> None:
        assert state in SLOT_TRANSITIONS[self.state], f"{self.state} -> {state}"
        self.state = state


class ChannelPool:
    """Lends confirm channels that ``open_channel`` makes.

    ``channels_max`` is never exceeded, channels being opened or closed included. An async context
    manager: leaving it closes every channel, lent ones too.
    """

    def __init__(
        self,
        open_channel: OpenChannel,
        *,
        channels_max: int = CHANNELS_MAX_DEFAULT,
        borrow_timeout_s: float = BORROW_TIMEOUT_S,
        settle_timeout_s: float = SETTLE_TIMEOUT_S,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._open_channel = open_channel
        self._channels_max = channels_max
        self._borrow_timeout_s = borrow_timeout_s
        self._settle_timeout_s = settle_timeout_s
        self._clock = clock
        self._slots: list[_Slot] = []
        self._waiters: list[asyncio.Future[_Slot]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def __repr__(self) -> str:
        counts = dict.fromkeys(SlotState, 0)
        for slot in self._slots:
            counts[slot.state] += 1
        states = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        return f"<ChannelPool of {self._channels_max}: {states or 'empty'}>"

    async def __aenter__(self) -> ChannelPool:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def channels_max(self) -> int:
        return self._channels_max

    @property
    def size(self) -> int:
        """The number of channels, in whatever state."""
        return len(self._slots)

    def lent(self) -> tuple[Loan, ...]:
        """The channels that are out now, the longest first: where to look for a leak."""
        now_s = self._clock.monotonic_s()
        out = [slot for slot in self._slots if slot.state is SlotState.LENT]
        loans = [Loan(slot.taken_at, now_s - slot.taken_s) for slot in out]
        return tuple(sorted(loans, key=lambda loan: -loan.held_s))

    async def fill(self, count: int) -> None:
        """Open channels until ``count`` exist, so that the first borrowers need not wait.

        Call it again after a reconnect. Raises what opening raised.
        """
        self._drop_broken()
        missing = min(count, self._channels_max) - len(self._slots)
        await asyncio.gather(*(self._open(self._new_slot()) for _ in range(missing)))

    @asynccontextmanager
    async def borrow(self, timeout_s: float | None = None) -> AsyncIterator[Channel]:
        """A channel for the time of the block, for this task alone.

        Raises :exc:`PoolExhausted` when every channel stays lent for ``timeout_s`` (else the pool's
        own time), :exc:`DeadlineExceeded` when none could be opened by then, and what opening one
        raised. Whatever is unconfirmed at the end of the block goes on being awaited by the pool.
        """
        slot = await self._take(timeout_s, _caller())
        assert slot.channel is not None
        try:
            yield slot.channel
        finally:
            self._give_back(slot)

    async def close(self) -> None:
        """Close every channel; waiting borrowers get :exc:`Closed`. Idempotent."""
        self._closed = True
        for loan in self.lent():
            _LOG.warning("a channel is still lent as its pool closes: taken at %s", loan)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(Closed("the channel pool was closed"))
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        slots, self._slots = self._slots, []
        channels = [slot.channel for slot in slots if slot.channel is not None]
        await asyncio.gather(*(channel.close() for channel in channels))

    async def _take(self, timeout_s: float | None, taken_at: str) -> _Slot:
        if self._closed:
            raise Closed("the channel pool was closed")
        allowed_s = self._borrow_timeout_s if timeout_s is None else timeout_s
        waiter: asyncio.Future[_Slot] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._assign()
        try:
            async with self._clock.timeout(allowed_s):
                slot = await waiter
        except TimeoutError:
            self._reclaim(waiter)
            raise self._too_late(allowed_s) from None
        except asyncio.CancelledError:
            self._reclaim(waiter)
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        slot.taken_at = taken_at
        slot.taken_s = self._clock.monotonic_s()
        return slot

    def _reclaim(self, waiter: asyncio.Future[_Slot]) -> None:
        """The waiter gave up in the moment in which it was served."""
        if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
            self._give_back(waiter.result())

    def _too_late(self, allowed_s: float) -> MqkitError:
        loans = self.lent()
        if len(loans) < self._channels_max:
            return DeadlineExceeded(f"no channel could be opened within {allowed_s:g} s ({self!r})")
        holders = "".join(f"\n  taken at {loan}" for loan in loans)
        return PoolExhausted(
            f"all {self._channels_max} channels stayed lent for {allowed_s:g} s:{holders}"
        )

    def _give_back(self, slot: _Slot) -> None:
        if slot not in self._slots:  # the pool was closed meanwhile, and the channel with it
            return
        if slot.is_open and slot.is_quiescent:
            slot.move(SlotState.IDLE)
        elif slot.is_open:
            slot.move(SlotState.SETTLING)
            self._start(self._settle(slot))
        else:
            self._slots.remove(slot)
        self._assign()

    def _assign(self) -> None:
        """Carry out what :func:`assign` decides. Everything that waits is done in tasks."""
        waiting = [waiter for waiter in self._waiters if not waiter.done()]
        decision = assign(waiting, self._slots, self._channels_max)
        for slot in decision.drop:
            self._slots.remove(slot)
        for slot in decision.settle:
            slot.move(SlotState.SETTLING)
            self._start(self._settle(slot))
        for waiter, slot in decision.lend:
            slot.move(SlotState.LENT)
            waiter.set_result(slot)
        for _ in range(decision.open_count):
            self._start(self._open_for_waiter(self._new_slot()))

    def _drop_broken(self) -> None:
        self._slots = [
            slot for slot in self._slots if slot.state is not SlotState.IDLE or slot.is_open
        ]

    def _new_slot(self) -> _Slot:
        slot = _Slot()
        self._slots.append(slot)
        return slot

    async def _open(self, slot: _Slot) -> None:
        try:
            slot.channel = await self._open_channel()
        except BaseException:
            if slot in self._slots:
                self._slots.remove(slot)
            raise
        slot.move(SlotState.IDLE)
        self._assign()

    async def _open_for_waiter(self, slot: _Slot) -> None:
        try:
            await self._open(slot)
        except Exception as error:  # noqa: BLE001 - whatever it is, the borrower gets it
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_exception(error)
                    break
            self._assign()

    async def _settle(self, slot: _Slot) -> None:
        """Wait for a returned channel's confirms; replace it if they do not come."""
        channel = slot.channel
        assert channel is not None
        try:
            async with self._clock.timeout(self._settle_timeout_s):
                await channel.wait_quiescent()
        except TimeoutError:
            _LOG.warning(
                "%d publishes stayed unconfirmed for %g s on the channel taken at %s: it is closed",
                channel.unconfirmed,
                self._settle_timeout_s,
                slot.taken_at,
            )
            slot.move(SlotState.CLOSING)
            await channel.close()
        if slot.state is SlotState.SETTLING and channel.is_open:
            slot.move(SlotState.IDLE)
        elif slot in self._slots:
            self._slots.remove(slot)
        self._assign()

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _caller() -> str:
    """File, line and function of whoever borrows: the nearest frame outside of this machinery."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename == __file__ or frame.f_code.co_filename.endswith("contextlib.py")
    ):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
