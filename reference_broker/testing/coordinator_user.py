"""A user of the coordinator over etcd, as a core is one: it hands in callbacks, and waits for
the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from reference_broker.cluster.coordinator import (
    Compare,
    Delete,
    News,
    Outcome,
    Page,
    Put,
    Transaction,
    Unread,
    Watch,
)
from reference_broker.runtime.etcd.config import EtcdConfig, endpoint
from reference_broker.runtime.etcd.coordinator import EtcdCoordinator
from reference_broker.runtime.etcd.inputs import Step
from reference_broker.runtime.process.loop_beat import LoopBeat

WAIT_S = 30.0

Said = TypeVar("Said")


class Told(asyncio.Queue[Said]):
    """All that a callback was called with, in order."""

    async def next(self) -> Said:
        """The next one. Raises ``TimeoutError`` when there is none for too long."""
        async with asyncio.timeout(WAIT_S):
            return await self.get()


class WatchTold(Told[News]):
    """The news of one watch."""

    watch: Watch


class LeaseTold(Told[tuple[str, int]]):
    """A listener: "granted" or "ended", and the lease."""

    def lease_granted(self, lease: int) -> None:
        self.put_nowait(("granted", lease))

    def lease_ended(self, lease: int) -> None:
        self.put_nowait(("ended", lease))

    async def granted(self) -> int:
        """The lease that is granted next."""
        word, lease = await self.next()
        assert word == "granted"
        return lease


class CoordinatorUser:
    """Uses one coordinator, in the running loop. ``inputs`` counts the inputs of the core; an
    answer that is none, or comes within a call, is an assertion. Close it in the end."""

    def __init__(
        self,
        endpoints: Sequence[str],
        config: EtcdConfig | None = None,
        *,
        compare_every_s: float = 5.0,
    ) -> None:
        config = config or EtcdConfig(tuple(endpoint(each) for each in endpoints))
        self._beat = LoopBeat(asyncio.get_running_loop().call_later)
        self.coordinator = EtcdCoordinator(
            config, self._as_input, self._beat, compare_every_s=compare_every_s
        )
        self.inputs = 0
        self._in_input = False
        self._in_call = False

    async def close(self) -> None:
        await self.coordinator.close()
        self._beat.stop()

    async def propose(self, *changes: Put | Delete, compares: Sequence[Compare] = ()) -> Outcome:
        """The outcome of a transaction."""
        told: Told[Outcome] = Told()
        self._in_call = True
        self.coordinator.propose(
            Transaction(tuple(compares), changes), lambda outcome: self._hear(told, outcome)
        )
        self._in_call = False
        return await told.next()

    async def read(self, prefix: str, *, after: str = "", revision: int = 0) -> Page | Unread:
        """A page."""
        told: Told[Page | Unread] = Told()
        self._in_call = True
        self.coordinator.read(
            prefix, lambda page: self._hear(told, page), after=after, revision=revision
        )
        self._in_call = False
        return await told.next()

    def watch(self, prefix: str, after: int) -> WatchTold:
        """The news of a watch."""
        told = WatchTold()
        self._in_call = True
        told.watch = self.coordinator.watch(prefix, after, lambda news: self._hear(told, news))
        self._in_call = False
        return told

    def _hear(self, told: Told[Said], said: Said) -> None:
        assert self._in_input
        assert not self._in_call
        told.put_nowait(said)

    def _as_input(self, step: Step) -> None:
        self.inputs += 1
        self._in_input = True
        step()
        self._in_input = False
