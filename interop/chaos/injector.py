"""Doing what the plan says, one fault at a time. Each is a fact when it begins and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from interop.chaos.broker import Broker
from interop.chaos.deletion import Deletion
from interop.chaos.facts import FactsFile
from interop.chaos.plan import Fault, Kind
from interop.chaos.proxy import Direction, Proxy


class Injector:
    """Breaks what is between the app and ``broker``, or the broker itself."""

    def __init__(self, broker: Broker, proxy: Proxy, facts: FactsFile) -> None:
        self._broker = broker
        self._proxy = proxy
        self._facts = facts
        self._ways: dict[Kind, Callable[[Fault], Awaitable[None]]] = {
            Kind.CUT: self._cut,
            Kind.OUTAGE: self._outage,
            Kind.HALF_CLOSED_TO_CLIENT: self._half_closed_to_client,
            Kind.HALF_CLOSED_TO_BROKER: self._half_closed_to_broker,
            Kind.STALL: self._stall,
            Kind.SHORT_STALL: self._stall,
            Kind.STALL_TO_CLIENT: self._stall_to_client,
            Kind.STALL_TO_BROKER: self._stall_to_broker,
            Kind.TRICKLE: self._trickle,
            Kind.HELD_CONFIRMS: self._hold_confirms,
            Kind.KILL: self._kill,
            Kind.TERM: self._term,
            Kind.CLOSE_ALL: self._close_all,
            Kind.DELETE_QUEUE: self._delete,
            Kind.DELETE_TIER: self._delete,
            Kind.DELETE_LOT: self._delete,
            Kind.REDECLARE: self._redeclare,
            Kind.MEMORY_ALARM: self._memory_alarm,
            Kind.DISK_ALARM: self._disk_alarm,
        }

    @property
    def kinds(self) -> set[Kind]:
        """The kinds that can be done."""
        return set(self._ways)

    async def inject(self, number: int, fault: Fault) -> None:
        """Do ``fault``, and return when it is over."""
        self._facts.write(
            "fault",
            phase="begin",
            number=number,
            kind=fault.kind,
            lasts_s=fault.lasts_s,
            queue=fault.queue,
        )
        await self._ways[fault.kind](fault)
        self._facts.write("fault", phase="end", number=number, kind=fault.kind)
        self._facts.flush()

    # -- links -------------------------------------------------------------------------------

    async def _cut(self, fault: Fault) -> None:
        self._proxy.cut()

    async def _outage(self, fault: Fault) -> None:
        self._proxy.refuse()
        self._proxy.cut()
        await asyncio.sleep(fault.lasts_s)
        self._proxy.accept()

    async def _half_closed_to_client(self, fault: Fault) -> None:
        for link in tuple(self._proxy.links):
            link.to_client.shut()

    async def _half_closed_to_broker(self, fault: Fault) -> None:
        links = tuple(self._proxy.links)
        for link in links:
            link.to_broker.shut()
        await asyncio.sleep(fault.lasts_s)
        for link in links:
            link.cut()

    async def _stall(self, fault: Fault) -> None:
        await _held([each for link in self._proxy.links for each in link.directions], fault)

    async def _stall_to_client(self, fault: Fault) -> None:
        await _held([link.to_client for link in self._proxy.links], fault)

    async def _stall_to_broker(self, fault: Fault) -> None:
        await _held([link.to_broker for link in self._proxy.links], fault)

    async def _trickle(self, fault: Fault) -> None:
        directions = [each for link in self._proxy.links for each in link.directions]
        for each in directions:
            each.trickle()
        await asyncio.sleep(fault.lasts_s)
        for each in directions:
            each.release()

    async def _hold_confirms(self, fault: Fault) -> None:
        links = self._proxy.links
        await _held([link.to_client for link in links if link.is_publishing], fault)

    # -- the broker --------------------------------------------------------------------------

    async def _kill(self, fault: Fault) -> None:
        await self._restart(self._broker.kill_and_start)

    async def _term(self, fault: Fault) -> None:
        await self._restart(self._broker.stop_and_start)

    async def _restart(self, restart: Callable[[], None]) -> None:
        await asyncio.to_thread(restart)
        self._proxy.broker = self._broker.address

    async def _close_all(self, fault: Fault) -> None:
        closed = await asyncio.to_thread(self._broker.management.close_all_connections)
        self._facts.write("connections closed", count=closed)

    async def _delete(self, fault: Fault) -> None:
        await asyncio.to_thread(self._deletion(fault).delete)

    async def _redeclare(self, fault: Fault) -> None:
        deletion = self._deletion(fault)
        done = await asyncio.to_thread(deletion.redeclare)
        self._facts.write("redeclared", queue=fault.queue, done=done)
        await asyncio.sleep(fault.lasts_s)
        await asyncio.to_thread(deletion.delete)

    async def _memory_alarm(self, fault: Fault) -> None:
        await asyncio.to_thread(self._broker.set_memory_alarm, on=True)
        await asyncio.sleep(fault.lasts_s)
        await asyncio.to_thread(self._broker.set_memory_alarm, on=False)

    async def _disk_alarm(self, fault: Fault) -> None:
        await asyncio.to_thread(self._broker.set_disk_alarm, on=True)
        await asyncio.sleep(fault.lasts_s)
        await asyncio.to_thread(self._broker.set_disk_alarm, on=False)

    def _deletion(self, fault: Fault) -> Deletion:
        return Deletion(self._broker.url, fault.queue, fault.owner, self._facts)


async def _held(directions: Sequence[Direction], fault: Fault) -> None:
    for each in directions:
        each.hold()
    await asyncio.sleep(fault.lasts_s)
    for each in directions:
        each.release()
