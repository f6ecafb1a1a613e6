"""How a request changes something: as one input of the core, answered when it is on disk (law 3).

async handler:   with inputs.begin() as broker: ...change...
                 await inputs.on_disk()
                 answer
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from reference_broker.core.broker import Broker
from reference_broker.http.answer import ApiError
from reference_broker.http.host import Host

DISK_TIMEOUT_S = 30.0
"""How long an answer waits for the disk. A full disk may take hours; the client should know
before that, and its request must not be held for so long."""


class CoreInputs:
    """Makes a request's changes an input of the broker."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @contextmanager
    def begin(self) -> Iterator[Broker]:
        """One input of the core. Nothing may be awaited inside."""
        broker = self._host.broker
        broker.begin(*self._host.now())
        try:
            yield broker
        finally:
            broker.finish()
            self._host.input_handled()

    async def on_disk(self) -> None:
        """Wait until everything that was logged so far is on disk. Call it straight after the
        input, before anything else is awaited.

        Raises :exc:`ApiError`: 500 when the disk failed, 503 when it takes too long. What was done
        is not undone: it may or may not be found after a restart.
        """
        journal = self._host.broker.journal
        if journal.synced >= journal.tail:
            return
        promise = _DiskPromise(asyncio.get_running_loop().create_future())
        self._host.broker.ledger.promise(journal.tail, promise)
        self._host.input_handled()
        try:
            kept = await asyncio.wait_for(promise.done, DISK_TIMEOUT_S)
        except TimeoutError:
            raise ApiError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "not_confirmed",
                f"not on disk after {DISK_TIMEOUT_S:g} s; it may have been done all the same",
            ) from None
        if not kept:
            raise ApiError(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "disk_failed",
                "the broker's disk failed; it may have been done all the same",
            )


class _DiskPromise:
    """A :class:`~reference_broker.core.confirms.Promise` to a coroutine, which may have left."""

    __slots__ = ("done",)

    def __init__(self, done: asyncio.Future[bool]) -> None:
        self.done = done

    def kept(self) -> None:
        self._settle(True)

    def broken(self) -> None:
        self._settle(False)

    def _settle(self, kept: bool) -> None:
        if not self.done.done():
            self.done.set_result(kept)
