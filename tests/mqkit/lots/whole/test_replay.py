"""Replays by choice, with changes, and after a kill, against both brokers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from mqkit.lots.choice import Choice
from mqkit.lots.link import LotLink
from mqkit.lots.replay.edits import EDITED, Change, set_edit, unset_edit
from mqkit.lots.replay.outgoing import Route
from mqkit.lots.replay.replaying import ReplayRequest, Watch, replay
from mqkit.lots.replay.report import ReplayReport
from mqkit.lots.where import parse
from mqkit.retry.headers import (
    ATTEMPT,
    ORIGINAL_EXCHANGE,
    ORIGINAL_ROUTING_KEY,
    PARKED_AT,
    QUEUE,
    REPLAYS,
)
from mqkit.retry.known_lots import KnownLots

pytestmark = pytest.mark.anyio


async def run(bench: Any, choice: Choice | None = None, **said: Any) -> ReplayReport:
    watch = said.pop("watch", None)
    link = LotLink(bench.endpoint, 20.0, said.pop("known", KnownLots()))
    return await replay(link, ReplayRequest(bench.lot, choice or Choice(), **said), watch)


async def test_all_go_back_with_their_attempts_anew(bench: Any) -> None:
    await bench.park(b"one", b"two", **{ATTEMPT: 3})
    report = await run(bench)
    assert (report.replayed, report.total, report.to) == (2, 2, bench.name)
    back = await bench.drain(bench.name)
    assert [one.body for one in back] == [b"one", b"two"]
    assert all(one.headers[REPLAYS] == 1 for one in back)
    assert all(ATTEMPT not in one.headers and PARKED_AT not in one.headers for one in back)


async def test_a_change_is_shown_and_the_old_value_kept(bench: Any) -> None:
    shown: list[tuple[str, tuple[str, ...]]] = []

    def note(name: str, changes: Sequence[Change]) -> None:
        shown.append((name, tuple(line for change in changes for line in change.lines())))

    await bench.park(b'{"to":"old","cc":1}')
    edits = (set_edit("body.to=new@example.org"), unset_edit("body.cc"), set_edit("header.x=1"))
    report = await run(bench, edits=edits, watch=Watch(on_changes=note))
    assert (report.replayed, report.edited) == (1, 1)
    (back,) = await bench.drain(bench.name)
    assert json.loads(back.body) == {"to": "new@example.org"}
    assert back.headers["x"] == 1
    kept = json.loads(str(back.headers[EDITED]))
    assert [(each["path"], each.get("old")) for each in kept] == [
        ("body.to", "old"),
        ("body.cc", 1),
        ("header.x", None),
    ]
    ((_, lines),) = shown
    assert lines[:2] == ('- body.to: "old"', '+ body.to: "new@example.org"')


async def test_a_dry_run_sends_nothing(bench: Any) -> None:
    await bench.park(b'{"a":1}', b"no JSON")
    report = await run(bench, edits=(set_edit("body.a=2"),), dry_run=True)
    assert (report.replayed, report.edited, report.kept) == (1, 1, 1)
    assert await bench.bodies(bench.name) == []
    assert await bench.bodies(bench.lot) == [b'{"a":1}', b"no JSON"]


async def test_where(bench: Any) -> None:
    await bench.park(*(b'{"order":{"total":%d}}' % total for total in (50, 150, 250)), b"no JSON")
    report = await run(bench, Choice(where=parse("body.order.total > 100")))
    assert (report.replayed, report.skipped) == (2, 2)
    assert len(await bench.bodies(bench.lot)) == 2


async def test_what_no_queue_takes_stays_and_the_rest_goes_on(bench: Any) -> None:
    gone = {ORIGINAL_EXCHANGE: "nobody", ORIGINAL_ROUTING_KEY: "k"}
    back = {ORIGINAL_EXCHANGE: "", ORIGINAL_ROUTING_KEY: bench.name}
    await bench.park(b"gone", **gone)
    await bench.park(b"back", **back)
    report = await run(bench, route=Route(original=True))
    assert (report.replayed, report.kept) == (1, 1)
    assert "there is no exchange 'nobody'" in report.reason
    assert await bench.bodies(bench.name) == [b"back"]
    assert await bench.bodies(bench.lot) == [b"gone"]


async def test_each_goes_to_its_own_queue(bench: Any) -> None:
    await bench.park(b"mine")
    await bench.park(b"nobody's", **{QUEUE: ""})
    report = await run(bench, known=KnownLots({bench.lot: None}))
    assert (report.replayed, report.kept) == (1, 1)
    assert await bench.bodies(bench.name) == [b"mine"]


async def test_one_that_came_back_too_often_stays(bench: Any) -> None:
    await bench.park(b"again", **{REPLAYS: 10})
    report = await run(bench)
    assert (report.replayed, report.guarded) == (0, 1)
    assert await bench.bodies(bench.lot) == [b"again"]


async def test_after_a_kill_what_may_have_been_sent_is_named(bench: Any) -> None:
    """A window that was read, and not acked, by a process that is gone."""
    await bench.park(*(b"%d" % number for number in range(6)))
    channel = await bench.connection.channel()
    for _ in range(3):
        assert await channel.get(bench.lot) is not None
    await channel.close()
    told: list[str] = []
    report = await run(bench, watch=Watch(on_repeated=told.extend))
    assert list(report.repeated) == told == ["0", "1", "2"]
    assert report.replayed == 6


async def test_a_window_is_what_the_rate_allows(bench: Any) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    await bench.park(*(b"%d" % number for number in range(5)))
    link = LotLink(bench.endpoint, 20.0, sleep=sleep)
    report = await replay(link, ReplayRequest(bench.lot, rate_per_s=2.0))
    assert report.replayed == 5
    assert waited == [1.0, 1.0]
