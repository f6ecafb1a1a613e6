"""The circuit breaker of one consumer: what it does while its handler's needs are not there.

The first ``Unavailable`` has the consumer cancelled at the broker, and what it was sent goes back
to the queue, once. The message that was being handled stays, unsettled, and is the probe: a message
that went back with each probe would be delivered again each time, and a quorum queue drops what it
has delivered too often. When a probe is handled, the consumer takes one message at a time, and then
as many as before.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from mqkit.consumer.breaker.circuit import Circuit
from mqkit.consumer.breaker.states import State
from mqkit.consumer.observing.observer import ConsumerObserver
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.retry.signals import Unavailable
from mqkit.timing.clock import Clock
from mqkit.timing.token_bucket import TokenBucket

REPORTS_AT_FIRST = 3
REPORT_EVERY_S = 60.0
"""Lines about probes that failed: the first ones, then one a minute."""

_LOG = logging.getLogger(__name__)


class Breakable(Protocol):
    """The consumer, as its breaker drives it."""

    @property
    def is_paused(self) -> bool:
        """True while the program wants nothing consumed."""
        ...

    async def halt(self) -> None:
        """Stop consuming, and give back what no handler has begun."""
        ...

    async def trickle(self, probes: asyncio.Queue[Arrival | None]) -> None:
        """Consume one message at a time into ``probes``, as soon as the program wants it."""
        ...

    async def restore(self) -> None:
        """Consume as before."""
        ...

    async def attempt(self, arrival: Arrival) -> Unavailable | None:
        """Handle one message, and settle it. Returns ``Unavailable`` where the handler raised
        that."""
        ...

    @property
    def keeps_unavailable(self) -> bool:
        """True if a message of which the handler said ``Unavailable`` is not settled."""
        ...


class Breaker:
    """Any number of workers may :meth:`trip` it; the first one probes until the circuit closes.

    ``hold_s`` is the time for which it keeps one message unsettled.
    """

    def __init__(
        self,
        queue: str,
        consumer: Breakable,
        settler: Settler,
        circuit: Circuit,
        *,
        hold_s: float,
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._consumer = consumer
        self._settler = settler
        self._circuit = circuit
        circuit.on_change = self._changed
        self._why = ""
        self.observer: ConsumerObserver | None = None
        self._probes: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._hold_s = hold_s
        self._clock = clock
        self._reports = TokenBucket(REPORTS_AT_FIRST, REPORT_EVERY_S, clock)
        self._ended = asyncio.Event()
        self._held: Arrival | None = None
        self._kept: Arrival | None = None
        """The one that was held last, until :attr:`_kept_until_s` in all."""
        self._kept_until_s = 0.0
        self.probing: asyncio.Task[Any] | None = None
        """The worker that opened the circuit, until it is closed."""
        self.awaits_probe = False
        """True while a message to try is waited for: there may be none for long."""

    @property
    def state(self) -> State:
        return self._circuit.state

    def probe_from(self, probes: asyncio.Queue[Arrival | None]) -> None:
        """Take probes out of another inbox. Call it before the consumer runs."""
        self._probes = probes

    async def trip(self, arrival: Arrival, said: Unavailable) -> None:
        """A handler said ``Unavailable`` of ``arrival``.

        Returns when the circuit is closed again, or at the end; at once if another worker probes.
        """
        stats = self._settler.stats
        stats.unavailable += 1
        if self.state is not State.CLOSED or self._ended.is_set():
            if self._consumer.keeps_unavailable:
                await self._settler.give_back(arrival)
            return
        self.probing = asyncio.current_task()
        try:
            await self._open(arrival, said)
        finally:
            self.probing = None

    async def _open(self, arrival: Arrival, said: Unavailable) -> None:
        """Probe until the circuit is closed again, or the end."""
        stats = self._settler.stats
        self._hold(arrival)
        self._why = said.reason
        wait_s = self._circuit.unavailable()
        stats.circuits_opened += 1
        since_s = self._clock.monotonic_s()
        self._report(said, wait_s)
        await self._consumer.halt()
        while not self._ended.is_set():
            await self._until_due(wait_s)
            self._circuit.due()
            probed = await self._probe()
            if probed is None:
                break
            stats.unavailable += 1
            self._why = probed.reason
            wait_s = self._circuit.unavailable()
            self._report(probed, wait_s)
            await self._consumer.halt()
        await self._give_back_held()
        if self.state is State.CLOSED:
            stats.circuits_closed += 1
            open_s = self._clock.monotonic_s() - since_s
            _LOG.warning("%s is consumed again after %.0f s", self._queue, open_s)
        await self._consumer.halt()
        await self._settler.give_back_all(self._probes)
        await self._consumer.restore()

    def end(self) -> None:
        """No more probes, for the consumer stops. A handler that has begun is let finish."""
        self._ended.set()

    async def stop(self) -> None:
        """Give back probes that have arrived, when no more will; :meth:`trip` returns then."""
        await self._settler.give_back_all(self._probes)
        self._probes.put_nowait(None)

    async def _probe(self) -> Unavailable | None:
        """Handle messages, one at a time, until the circuit is closed or there is an end. Returns
        what a handler raised that made it open again."""
        is_trickling = False
        while self.state is not State.CLOSED and not self._ended.is_set():
            arrival, self._held = self._held, None
            if arrival is None:
                if not is_trickling:
                    is_trickling = True
                    await self._consumer.trickle(self._probes)
                self.awaits_probe = True
                arrival = await self._probes.get()
                self.awaits_probe = False
            if arrival is None:
                return None
            if not arrival.channel.is_open:
                self._settler.stats.stale_deliveries += 1
            elif self._ended.is_set() or self._consumer.is_paused:
                await self._settler.give_back(arrival)
            elif (said := await self._consumer.attempt(arrival)) is not None:
                self._hold(arrival)
                return said
            else:
                self._circuit.handled()
        return None

    def _changed(self, before: State, after: State) -> None:
        if self.observer is not None:
            self.observer.circuit_changed(before, after, self._why if after is State.OPEN else "")

    def _hold(self, arrival: Arrival) -> None:
        if not self._consumer.keeps_unavailable:
            return
        self._held = arrival
        if arrival is not self._kept:
            self._kept = arrival
            self._kept_until_s = self._clock.monotonic_s() + self._hold_s

    async def _until_due(self, wait_s: float) -> None:
        """Wait; a message whose time to be held is over goes back meanwhile."""
        if self._held is not None:
            left_s = max(0.0, self._kept_until_s - self._clock.monotonic_s())
            if left_s <= wait_s:
                await self._sleep(left_s)
                wait_s -= left_s
                await self._give_back_held()
        await self._sleep(wait_s)

    async def _sleep(self, wait_s: float) -> None:
        try:
            async with self._clock.timeout(wait_s):
                await self._ended.wait()
        except TimeoutError:
            return

    async def _give_back_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            await self._settler.give_back(held)

    def _report(self, said: Unavailable, wait_s: float) -> None:
        if self._reports.take():
            _LOG.warning(
                "%s is not consumed, for its handler said Unavailable: %s (next probe in %.1f s)",
                self._queue,
                said.reason,
                wait_s,
            )
