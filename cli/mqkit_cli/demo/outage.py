"""The outage: SIGKILL for the broker in the middle of the run, then a start on the same data.

windows   0 ........ 1/3 ................. 2/3 ................. all
                      |  kill: as soon as     |  held until the
                      |  something is         |  kill has happened
                      |  processed            |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from mqkit_cli.demo.broker_process import BrokerProcess
from mqkit_cli.demo.journal import Event, Journal

POLL_INTERVAL_S = 0.01

WAIT_FOR_CONSUMER_S = 20.0
"""The broker is killed after so long even if nothing has been processed yet."""


@dataclass(frozen=True, slots=True)
class Struck:
    """Messages published, confirmed and processed by the moment when the broker was killed."""

    published: int
    confirmed: int
    processed: int


class Outage:
    """Kills ``broker`` once. Asked before each window that goes out; :meth:`run` is a task."""

    def __init__(
        self, broker: BrokerProcess, journal: Journal, on_struck: Callable[[Struck], None]
    ) -> None:
        self._broker = broker
        self._journal = journal
        self._on_struck = on_struck
        self._due = asyncio.Event()
        self._struck = asyncio.Event()

    async def before_window(self, started: int, windows: int) -> None:
        """Return when the next window may go out: some are kept for after the kill."""
        if started >= windows // 3:
            self._due.set()
        # Never the first one: a run of one record has nothing to process before that.
        if started and started >= windows * 2 // 3:
            await self._struck.wait()

    async def run(self) -> None:
        """Wait for the middle of the run, kill the broker, and start it again."""
        await self._due.wait()
        for _ in range(round(WAIT_FOR_CONSUMER_S / POLL_INTERVAL_S)):
            if self._journal.messages(Event.PROCESSED):
                break
            await asyncio.sleep(POLL_INTERVAL_S)
        events = (Event.PUBLISHED, Event.CONFIRMED, Event.PROCESSED)
        struck = Struck(*(self._journal.messages(event) for event in events))
        await self._broker.kill()
        self._struck.set()
        self._on_struck(struck)
        await self._broker.start()
