"""One pass over a lot, against both brokers: what goes back, what is archived, what stays."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.lots import Alert, Lots
from mqkit.lots.clock.events import EventKind, LotEvent
from mqkit.retry.headers import PARKED_AT, REPLAYS
from mqkit.topology.file.read import loads

pytestmark = pytest.mark.anyio

LOT = "replay: {every: 1h, at_most: 3}, archive: {after: 24h, to: 'a/{queue}.jsonl.gz'}"
HOUR_S = 3600.0


class Seen:
    """The events and alerts of one run."""

    def __init__(self, bench: Any, archive: Any, lot: str = LOT) -> None:
        self.events: list[LotEvent] = []
        self.alerts: list[Alert] = []
        text = f"queues: {{{bench.name}: {{retry: {{after: [50ms]}}}}}}"
        text += f"\nlots: {{{bench.lot}: {{{lot}}}}}"
        self.lots = Lots(
            loads(text),
            endpoints=[bench.endpoint],
            archive_for=archive,
            on_event=self.events.append,
        )
        self.lots.on_alert(self.take)

    async def take(self, alert: Alert) -> None:
        self.alerts.append(alert)

    def ids(self, kind: EventKind) -> list[str]:
        return [found for event in self.events if event.kind is kind for found in event.ids]


async def test_each_message_by_its_own_time(bench: Any, archive: Any) -> None:
    await bench.park(b"used-up", ago_s=2 * HOUR_S, **{REPLAYS: 3})
    await bench.park(b"old", ago_s=25 * HOUR_S, **{REPLAYS: 3})
    await bench.park(b"due", ago_s=2 * HOUR_S, **{REPLAYS: 2})
    await bench.park(b"fresh", ago_s=60.0)
    await bench.park(b"due too", ago_s=2 * HOUR_S)
    seen = Seen(bench, archive)
    await seen.lots.once()
    returned = await bench.drain(bench.name)
    assert [(one.body, one.headers[REPLAYS]) for one in returned] == [(b"due", 3), (b"due too", 1)]
    assert all(PARKED_AT not in one.headers for one in returned)
    assert archive.synced == [b"old"]
    assert await bench.bodies(bench.lot) == [b"used-up", b"fresh"]
    assert seen.ids(EventKind.SENDING) == seen.ids(EventKind.RETURNED) == ["due", "due too"]
    assert seen.ids(EventKind.ARCHIVED) == ["old"]
    assert seen.alerts == []
