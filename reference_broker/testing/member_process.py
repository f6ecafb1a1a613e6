"""The process of a node of a cluster, without a broker: everything of the metadata and the links,
over a real etcd.

    process = MemberProcess(config)
    await process.service.start()
    await process.put("def/parameter/x", b"1")
    await process.service.stop()
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from reference_broker.cluster.coordinator import Compare, Put, Won
from reference_broker.cluster.isolation import PATIENCE_S
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.membership.joining import FolderMark, Joined
from reference_broker.cluster.mesh import Mesh
from reference_broker.cluster.metadata.proposal import Answered
from reference_broker.cluster.node import ClusterNode
from reference_broker.core.base.deadlines import Deadline, Deadlines
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions
from reference_broker.runtime.cluster.service import ClusterConfig, ClusterService


class MemberProcess:
    """The host of a :class:`ClusterService`. Make it in a running loop. ``marks`` are what its data
    folder was marked with, ``left_for`` the reasons for which it is a member no longer, and
    ``cut_off_for`` those for which it had no clients."""

    def __init__(
        self, config: ClusterConfig, *, run: int = 1, patience_s: float = PATIENCE_S
    ) -> None:
        self.budget = Budget()
        self.work = Portions(self.budget)
        self.marks: list[FolderMark] = []
        self.left_for: list[str] = []
        self.cut_off_for: list[str] = []
        self.is_cut_off = False
        self._deadlines = Deadlines()
        self.service = ClusterService(
            config, self, mark=None, run=run, position=0, patience_s=patience_s
        )

    # The host

    def as_input(self, step: Callable[[], object]) -> None:
        """Run ``step``, and all work that it leaves over."""
        self.budget.refill()
        step()
        self.work.run()

    def after(self, delay_s: float, callback: Callable[[], None]) -> Deadline:
        """Call ``callback`` after ``delay_s`` seconds, as an input."""
        loop = asyncio.get_running_loop()
        deadline = self._deadlines.at(round((loop.time() + delay_s) * 1_000), callback)
        loop.call_later(delay_s + 0.02, self._fire)
        return deadline

    def _fire(self) -> None:
        now_ms = round(asyncio.get_running_loop().time() * 1_000)
        self.as_input(partial(self._deadlines.fire, now_ms, self.budget))

    def now_wall_ms(self) -> int:
        """The wall clock."""
        return time.time_ns() // 1_000_000

    def lanes(self, node: ClusterNode, look_at: Callable[[Link], None]) -> None:
        """None: the process has no queues."""

    def made(self, node: ClusterNode, mesh: Mesh) -> None:
        """Nothing is made of the view."""

    def durable_queues_of(self, node: str) -> int:
        """None: nothing is made of the view."""
        return 0

    def joined(self, joined: Joined) -> None:
        """Nobody is given ids, and there is no folder to be looked into."""
        self.service.node.load()

    def loaded(self) -> None:
        """There is no folder to be looked into."""
        self.service.node.prepared()

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        """Keep the mark."""
        self.marks.append(mark)
        asyncio.get_running_loop().call_soon(self.as_input, marked)

    def cut_off(self, reason: str) -> None:
        """Keep the reason; there are no clients."""
        self.cut_off_for.append(reason)
        self.is_cut_off = True

    def reached(self) -> None:
        """It is over."""
        self.is_cut_off = False

    def left(self, reason: str) -> None:
        """Keep the reason."""
        self.left_for.append(reason)

    # A client of it

    async def put(self, key: str, value: bytes) -> Answered:
        """Propose ``key``, which must not be there, and wait until every live node has seen it."""
        answered: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        propose = self.service.node.proposals.propose
        compares, changes = (Compare(key, 0),), (Put(key, value),)
        self.as_input(partial(propose, compares, changes, answered.set_result))
        outcome = await answered
        if isinstance(outcome, Won):
            await self._passed(outcome.revision)
        return outcome

    async def _passed(self, revision: int) -> None:
        barrier = self.service.node.barrier
        ticket = barrier.ticket(revision)
        if barrier.passed.value < ticket:
            reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            barrier.passed.when_at(ticket, partial(reached.set_result, None))
            await reached

    @property
    def revision(self) -> int:
        """The revision of its view."""
        return self.service.node.view.revision.value

    @property
    def peers(self) -> list[str]:
        """The nodes that are heard of, and waited for."""
        awaited = self.service.node.barrier.awaited
        return sorted(name for name, applied in awaited.items() if applied)
