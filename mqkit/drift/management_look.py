"""A look with the management API: a snapshot of the virtual host, compared in a worker thread.

What is missing is mended over AMQP, which says first whether it still is. No snapshot is believed
that was taken while this app declared something itself: the three answers it is made of would not
fit together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Protocol

import anyio
from anyio import CapacityLimiter

from mqkit.declaration import Binding, Declaration
from mqkit.drift.amqp_look import ask_equal
from mqkit.drift.book import Look
from mqkit.drift.compare import Compared, Comparison, compare
from mqkit.drift.mend import Mender
from mqkit.drift.pace import QuestionPace
from mqkit.drift.watched import vanishes_by_itself
from mqkit.topology.throwaway import ThrowAwayChannel

TIMEOUT_S = 10.0
"""For the answers of one look: a hundred thousand queues take RabbitMQ a few seconds."""

SNAPSHOTS_MAX = 3
"""Snapshots for one look, if declaring comes in between each time. The last one is believed."""


class Passes(Protocol):
    """The passes of declaring of this app."""

    declaring: asyncio.Lock
    """Held during a pass."""
    passes: int
    """Those that have begun."""


class ManagementLook:
    """The snapshots of one app. ``more`` are comparisons beside those of objects and bindings."""

    def __init__(
        self, management_url: str, vhost: str, passes: Passes, more: Sequence[Comparison] = ()
    ) -> None:
        self._url = management_url
        self._vhost = vhost
        self._passes = passes
        self._more = tuple(more)
        self._limiter: CapacityLimiter | None = None

    async def compare(self, wanted: Sequence[Declaration]) -> Compared:
        """A snapshot, compared with ``wanted``. Raises as
        :func:`~mqkit.topology.snapshot.take_snapshot`."""
        if self._limiter is None:
            self._limiter = CapacityLimiter(1)
        for _ in range(SNAPSHOTS_MAX):
            async with self._passes.declaring:
                passes = self._passes.passes
            compared = await anyio.to_thread.run_sync(
                partial(_compare, self._url, self._vhost, wanted, self._more),
                abandon_on_cancel=True,
                limiter=self._limiter,
            )
            if passes == self._passes.passes:
                break
        return compared


async def note_compared(
    compared: Compared,
    look: Look,
    channel: ThrowAwayChannel,
    mender: Mender,
    pace: QuestionPace,
) -> None:
    """Note what a comparison found, and mend what is missing."""
    for declaration in compared.missing:
        if isinstance(declaration, Binding):
            await look.note(await mender.bind(declaration))
            continue
        await pace.take()
        drift = await mender.declare(declaration)
        if drift is not None and not (drift.is_mended and vanishes_by_itself(declaration)):
            await look.note(drift)
    for drift in compared.drifts:
        await look.note(drift)
    for declaration in compared.doubtful:
        if not isinstance(declaration, Binding):
            for drift in await ask_equal(declaration, channel, pace):
                await look.note(drift)


def _compare(
    management_url: str,
    vhost: str,
    wanted: Sequence[Declaration],
    more: Sequence[Comparison],
) -> Compared:
    """In a thread, with an event loop of its own: rows of ten thousand queues are some 100 ms of
    work, in which the app's loop has its turns."""
    from mqkit.topology.snapshot import take_snapshot  # which brings httpx

    snapshot = asyncio.run(take_snapshot(management_url, vhost, timeout_s=TIMEOUT_S))
    return compare(wanted, snapshot, more)
