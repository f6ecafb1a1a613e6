"""SIGINT and SIGTERM, as a wish: what runs ends between two windows."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

ReportT = TypeVar("ReportT")


def run_until_asked(work: Callable[[Callable[[], bool]], Awaitable[ReportT]]) -> ReportT:
    """Run ``work``, which is given the question whether it is to stop. A second signal ends the
    process at once."""

    async def run() -> ReportT:
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()

        def ask(number: signal.Signals) -> None:
            asked.set()
            loop.remove_signal_handler(number)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ask, number)
        return await work(asked.is_set)

    return asyncio.run(run())
