"""When the broker is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mqkit_cli.demo.broker_process import BrokerProcess
from mqkit_cli.demo.journal import Event, Journal
from mqkit_cli.demo.outage import Outage, Struck

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_the_broker_is_killed_in_the_middle_and_comes_back(tmp_path: Path) -> None:
    struck: list[Struck] = []
    with Journal(tmp_path / "j") as journal:
        async with BrokerProcess(tmp_path / "data", tmp_path / "log") as broker:
            outage = Outage(broker, journal, struck.append)
            run = asyncio.create_task(outage.run())
            journal.write(Event.PUBLISHED, "q", "a")
            journal.write(Event.PUBLISHED, "q", "b")
            journal.write(Event.PROCESSED, "q", "a")
            for started in range(8):
                await outage.before_window(started, 12)
            # The last third waits for the kill, whoever asks.
            await asyncio.wait_for(outage.before_window(8, 12), 30)
            assert struck == [Struck(published=2, confirmed=0, processed=1)]
            await run
            assert (broker.starts, broker.is_running) == (2, True)


async def test_the_only_window_is_not_held_back(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        broker = BrokerProcess(tmp_path / "data", tmp_path / "log")
        outage = Outage(broker, journal, lambda _: None)
        await asyncio.wait_for(outage.before_window(0, 1), 30)
