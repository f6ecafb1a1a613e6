"""Lots by the clock, against both brokers: one leader at a time, and what can't be done stays in
its place and is an alert."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ConfigurationError, ConnectionRefused
from mqkit.lots import Alert, Lots
from mqkit.lots.clock.events import EventKind, LotEvent
from mqkit.retry.headers import QUEUE as QUEUE_HEADER
from mqkit.timing.clock import SYSTEM_CLOCK, Clock, SystemClock
from mqkit.topology.file.read import loads
from mqkit.transport.seam import Credentials

pytestmark = pytest.mark.anyio

LOT = "replay: {every: 1h, at_most: 3}, archive: {after: 24h, to: 'a/{queue}.jsonl.gz'}"
HOUR_S = 3600.0
DEADLINE_S = 30.0


class Process:
    """A process that runs the lots of one file, as far as another one can tell."""

    def __init__(
        self,
        bench: Any,
        archive: Any,
        lot: str = LOT,
        *,
        endpoint: Any = None,
        more: str = "",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.events: list[LotEvent] = []
        self.alerts: list[Alert] = []
        self._changed = asyncio.Event()
        text = f"queues: {{{bench.name}: {{retry: {{after: [50ms]}}{more}}}}}"
        if lot:
            text += f"\nlots: {{{bench.lot}: {{{lot}}}}}"
        self.lots = Lots(
            loads(text),
            endpoints=[endpoint or bench.endpoint],
            archive_for=archive,
            on_event=self._note,
            lock_every_s=0.05,
            clock=clock,
        )
        self.lots.on_alert(self._take)

    def _note(self, event: LotEvent) -> None:
        self.events.append(event)
        self._changed.set()

    async def _take(self, alert: Alert) -> None:
        self.alerts.append(alert)

    def count(self, kind: EventKind) -> int:
        return sum(event.count or 1 for event in self.events if event.kind is kind)

    async def until(self, kind: EventKind) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not self.count(kind):
                self._changed.clear()
                await self._changed.wait()

    def told(self) -> list[tuple[str, bool]]:
        return [(str(alert.kind), alert.is_over) for alert in self.alerts]


async def test_one_leads_and_another_takes_over(bench: Any, archive: Any) -> None:
    first, second = Process(bench, archive), Process(bench, archive)
    await bench.park(b"due", ago_s=2 * HOUR_S)
    leading = asyncio.create_task(first.lots())
    await first.until(EventKind.LOOKED)
    async with second.lots:
        await second.until(EventKind.WAITING)
        await bench.park(b"due too", ago_s=2 * HOUR_S)
        assert second.count(EventKind.LEADING) == 0
        leading.cancel()
        await second.until(EventKind.RETURNED)
    assert second.count(EventKind.WAITING) == 1
    assert (first.count(EventKind.RETURNED), second.count(EventKind.RETURNED)) == (1, 1)
    assert await bench.bodies(bench.name) == [b"due", b"due too"]


async def test_it_runs_once_at_a_time_and_may_begin_again(bench: Any, archive: Any) -> None:
    process = Process(bench, archive)
    for _ in range(2):
        async with process.lots:
            with pytest.raises(ConfigurationError, match="running already"):
                async with process.lots:
                    pass


async def test_a_disk_that_is_full_leaves_the_messages_and_is_an_alert(
    bench: Any, archive: Any
) -> None:
    archive.fault = OSError(28, "No space left on device")
    await bench.park(b"old", ago_s=25 * HOUR_S)
    process = Process(bench, archive)
    await process.lots.once()
    assert process.told() == [("archive", False)]
    assert "No space left on device" in str(process.alerts[0])
    archive.fault = None
    await process.lots.once()
    assert process.told() == [("archive", False), ("archive", True)]
    assert archive.synced == [b"old"]
    assert await bench.bodies(bench.lot) == []


async def test_what_can_not_go_back_stays_and_is_an_alert(bench: Any, archive: Any) -> None:
    channel = await bench.connection.channel()
    await channel.delete_queue(bench.name)
    await bench.park(b"due", ago_s=2 * HOUR_S)
    process = Process(bench, archive)
    await process.lots.once()
    assert process.told() == [("replay", False)]
    assert f"was not confirmed by {bench.name!r}" in str(process.alerts[0])
    await channel.declare_queue(Queue(bench.name))
    await channel.close()
    await process.lots.once()
    assert process.told() == [("replay", False), ("replay", True)]
    assert await bench.bodies(bench.name) == [b"due"]
    assert await bench.bodies(bench.lot) == []


async def test_what_does_not_say_since_when_is_left_to_a_person(bench: Any, archive: Any) -> None:
    await bench.publish(bench.lot, b"undated", headers={QUEUE_HEADER: bench.name})
    process = Process(bench, archive)
    await process.lots.once()
    assert process.told() == [("undated", False)]
    assert await bench.bodies(bench.lot) == [b"undated"]
    await process.lots.once()
    assert process.told() == [("undated", False), ("undated", True)]


async def test_a_depth_and_an_age_are_told_once_and_when_they_are_over(
    bench: Any, archive: Any
) -> None:
    process = Process(bench, archive, "alert: {depth: 2, age: 1h}", more=", alert: {depth: 1}")
    await bench.park(b"1", b"2", ago_s=2 * HOUR_S)
    await bench.publish(bench.name, b"at work", headers={})
    for _ in range(2):
        await process.lots.once()
    assert sorted(process.told()) == [("age", False), ("depth", False), ("depth", False)]
    assert await bench.bodies(bench.lot) == [b"1", b"2"]
    assert await bench.bodies(bench.name) == [b"at work"]
    await process.lots.once()
    assert sorted(process.told()[3:]) == [("age", True), ("depth", True), ("depth", True)]
    assert (process.lots.alerts.crossed, process.lots.alerts.over) == (
        {"depth": 2, "age": 1},
        {"depth": 2, "age": 1},
    )


async def test_a_lot_that_is_not_there_is_an_alert(bench: Any, archive: Any) -> None:
    channel = await bench.connection.channel()
    await channel.delete_queue(bench.lot)
    process = Process(bench, archive)
    await process.lots.once()
    await channel.declare_queue(Queue(bench.lot))
    await channel.close()
    await process.lots.once()
    assert process.told() == [("missing", False), ("missing", True)]


async def test_a_queue_that_is_declared_after_the_first_look_is_no_alert(
    bench: Any, archive: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqkit.lots.clock.tending.MISSED_AGAIN_S", 0.05)
    channel = await bench.connection.channel()
    await channel.delete_queue(bench.lot)
    pauses: list[float] = []

    class DeclaresInThePause(SystemClock):
        async def sleep(self, delay_s: float) -> None:
            if not pauses:
                await channel.declare_queue(Queue(bench.lot))
            pauses.append(delay_s)
            await super().sleep(delay_s)

    process = Process(bench, archive, clock=DeclaresInThePause())
    async with process.lots:
        await process.until(EventKind.LOOKED)
    assert pauses[0] == 0.05
    await channel.close()
    assert process.told() == []


async def test_what_ends_the_lots_ends_the_block_beside_them(bench: Any, archive: Any) -> None:
    endpoint = replace(bench.endpoint, credentials=Credentials("guest", "wrong"))
    with pytest.raises(ConnectionRefused):
        async with Process(bench, archive, endpoint=endpoint).lots:
            async with asyncio.timeout(DEADLINE_S):
                await asyncio.Event().wait()


async def test_a_refused_login_ends_it(bench: Any, archive: Any) -> None:
    endpoint = replace(bench.endpoint, credentials=Credentials("guest", "wrong"))
    with pytest.raises(ConnectionRefused):
        async with asyncio.timeout(DEADLINE_S):
            await Process(bench, archive, endpoint=endpoint).lots()


async def test_a_file_without_lots_has_nothing_to_run(bench: Any, archive: Any) -> None:
    with pytest.raises(ConfigurationError, match="nothing to run"):
        Process(bench, archive, lot="")
