"""Replays against both brokers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from mqkit.declaration import Binding, Exchange
from mqkit.errors import ConfigurationError
from mqkit.lots.choice import Choice
from mqkit.lots.replay.edits import EDITED, set_edit, unset_edit
from mqkit.lots.replay.outgoing import Route
from mqkit.lots.replay.replaying import ReplayRequest, Watch, replay
from mqkit.lots.replay.report import ReplayReport
from mqkit.lots.sending import WINDOW
from mqkit.lots.where import parse
from mqkit.message import Message
from mqkit.retry.headers import (
    ATTEMPT,
    MAX_REPLAYS,
    ORIGINAL_EXCHANGE,
    ORIGINAL_ROUTING_KEY,
    PARKED_AT,
    QUEUE,
    REPLAYS,
)
from mqkit.retry.known_lots import KnownLots
from mqkit.transport.native.exact import from_octets, octets_of
from mqkit.wire import Properties as WireProperties
from mqkit.wire import SizedInt

pytestmark = pytest.mark.anyio

Yard: TypeAlias = Any
"""The fixture's type lives in conftest.py, which no test module can import."""

NUMBERS = [b"%d" % number for number in range(7)]


async def park(yard: Yard, number: int, **headers: Any) -> None:
    """So many messages, with ids."""
    await yard.send(
        [
            Message(
                "",
                yard.lot,
                b"%d" % each,
                from_octets(octets_of(WireProperties(message_id=f"m{each}", headers=headers))),
            )
            for each in range(number)
        ]
    )


async def half_done(yard: Yard, number: int) -> None:
    """As after a run that was killed in its first window: read, perhaps sent, and not acked."""
    channel = await yard.connection.channel()
    for _ in range(number):
        assert await channel.get(yard.lot) is not None
    await channel.close()


async def test_all_go_back_in_order_and_the_lot_is_empty(yard: Yard) -> None:
    parked = {ATTEMPT: 3, PARKED_AT: "2025-01-02T00:00:00+00:00"}
    await park(yard, 250, tenant=SizedInt("l", 7), x_death="kept", **parked)
    progress: list[ReplayReport] = []
    watch = Watch(on_progress=progress.append)
    report = await replay(yard.link, ReplayRequest(yard.lot), watch)
    assert (report.replayed, report.total, report.stopped, report.to) == (250, 250, "", yard.name)
    assert [each.replayed for each in progress] == [100, 200, 250]
    back = await yard.drain(yard.name)
    assert [each.body for each in back] == [b"%d" % each for each in range(250)]
    assert {each.headers[REPLAYS] for each in back} == {1}
    assert {type(each.headers["tenant"]) for each in back} == {SizedInt}
    assert not any(header in each.headers for each in back for header in parked)
    assert await yard.bodies(yard.lot) == []


async def test_what_may_have_been_sent_is_named_before_it_is_sent_again(yard: Yard) -> None:
    await park(yard, 5)
    await half_done(yard, 3)
    named: list[str] = []
    depths: list[int] = []

    def on_repeated(names: Sequence[str]) -> None:
        named.extend(names)
        depths.append(len(named))

    report = await replay(yard.link, ReplayRequest(yard.lot), Watch(on_repeated=on_repeated))
    assert named == ["m0", "m1", "m2"] == list(report.repeated)
    assert (report.replayed, depths) == (5, [3])
    again = await replay(yard.link, ReplayRequest(yard.lot))
    assert again.repeated == ()


async def test_no_more_than_a_window_is_named(yard: Yard) -> None:
    await park(yard, WINDOW + 30)
    await half_done(yard, WINDOW + 30)
    request = ReplayRequest(yard.lot, rate_per_s=40)

    async def sleep(seconds: float) -> None:
        assert seconds <= 1

    report = await replay(replace(yard.link, sleep=sleep), request)
    assert report.repeated == tuple(f"m{each}" for each in range(WINDOW))
    assert report.replayed == WINDOW + 30


async def test_a_window_is_what_the_rate_allows(yard: Yard) -> None:
    await yard.publish(yard.lot, *NUMBERS[:5])
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    report = await replay(replace(yard.link, sleep=sleep), ReplayRequest(yard.lot, rate_per_s=2.0))
    assert (report.replayed, waited) == (5, [1.0, 1.0])


async def test_nothing_is_named_behind_the_first_that_was_not_read(yard: Yard) -> None:
    await yard.publish(yard.lot, b"0", message_id="m0")
    await half_done(yard, 1)
    await yard.publish(yard.lot, b"1", message_id="m1")
    chosen = Choice(where=parse("body == 1"))
    assert (await replay(yard.link, ReplayRequest(yard.lot, chosen))).repeated == ()


async def test_asked_to_stop_it_ends_between_two_windows_and_the_next_run_goes_on(
    yard: Yard,
) -> None:
    await park(yard, 250)
    seen: list[ReplayReport] = []
    watch = Watch(on_progress=seen.append, stopping=lambda: len(seen) == 1)
    report = await replay(yard.link, ReplayRequest(yard.lot), watch)
    assert (report.replayed, report.stopped) == (100, "asked to stop")
    report = await replay(yard.link, ReplayRequest(yard.lot))
    assert (report.replayed, report.repeated) == (150, ())
    assert await yard.bodies(yard.name) == [b"%d" % each for each in range(250)]


async def test_a_message_that_fails_again_at_once_is_not_sent_round(yard: Yard) -> None:
    await yard.publish(yard.lot, *NUMBERS)
    channel = await yard.connection.channel()
    parking: list[asyncio.Task[None]] = []
    all_failed = asyncio.Event()

    def on_delivery(delivery: Any) -> None:
        parking.append(asyncio.ensure_future(yard.publish(yard.lot, delivery.body)))
        if len(parking) == len(NUMBERS):
            all_failed.set()

    await channel.consume(yard.name, on_delivery, no_ack=True)
    report = await replay(yard.link, ReplayRequest(yard.lot, rate_per_s=1e6))
    assert report.replayed == report.seen == 7
    async with asyncio.timeout(20):
        await all_failed.wait()
        await asyncio.gather(*parking)
    await channel.close()
    assert sorted(await yard.bodies(yard.lot)) == NUMBERS


async def test_one_that_was_replayed_too_often_stays(yard: Yard) -> None:
    await yard.publish(yard.lot, b"tired", headers={REPLAYS: MAX_REPLAYS})
    await yard.publish(yard.lot, b"fresh", headers={REPLAYS: MAX_REPLAYS - 1})
    report = await replay(yard.link, ReplayRequest(yard.lot, Choice(limit=1)))
    assert (report.replayed, report.guarded, report.skipped) == (1, 1, 0)
    assert await yard.bodies(yard.lot) == [b"tired"]


async def test_a_sample_is_as_large_as_asked_and_in_order(yard: Yard) -> None:
    await park(yard, 200)
    request = ReplayRequest(yard.lot, Choice(sample=120, seed=5), dry_run=True)
    assert (await replay(yard.link, request)).replayed == 120
    report = await replay(yard.link, replace(request, dry_run=False))
    assert (report.replayed, report.skipped) == (120, 80)
    sent = [int(body) for body in await yard.bodies(yard.name)]
    assert len(sent) == 120
    assert sent == sorted(sent)
    rest = [int(body) for body in await yard.bodies(yard.lot)]
    assert sorted(sent + rest) == list(range(200))


async def test_original_goes_by_exchange_and_key_and_what_nobody_takes_stays(
    yard: Yard, unique: Callable[[str], str]
) -> None:
    topic = unique("topic")
    channel = await yard.connection.channel()
    await channel.declare_exchange(Exchange(topic, "topic"))
    await channel.bind(Binding(topic, yard.name, "a.*"))
    for number, (exchange, key) in enumerate(
        [(topic, "a.b"), (topic, "nobody"), (f"{topic}.gone", "a.b"), (topic, "a.c")]
    ):
        headers = {ORIGINAL_EXCHANGE: exchange, ORIGINAL_ROUTING_KEY: key}
        await yard.publish(yard.lot, b"%d" % number, headers=headers)
    await yard.publish(yard.lot, b"4")
    report = await replay(yard.link, ReplayRequest(yard.lot, route=Route(original=True)))
    assert (report.replayed, report.kept, report.stopped) == (2, 3, "")
    assert "nobody" in report.reason or topic in report.reason
    back = await yard.drain(yard.name)
    assert [(each.exchange, each.routing_key, each.body) for each in back] == [
        (topic, "a.b", b"0"),
        (topic, "a.c", b"3"),
    ]
    assert await yard.bodies(yard.lot) == [b"1", b"2", b"4"]


async def test_each_goes_to_its_own_queue_where_a_lot_is_of_several(
    yard: Yard, unique: Callable[[str], str]
) -> None:
    other = unique("other")
    await yard.declare(other)
    dlq = unique("dlq")
    await yard.declare(dlq)
    for queue in (yard.name, other, f"{other}.gone"):
        await yard.publish(dlq, queue.encode(), headers={QUEUE: queue})
    await yard.publish(dlq, b"homeless")
    link = replace(yard.link, known=KnownLots({dlq: None}))
    report = await replay(link, ReplayRequest(dlq))
    assert (report.replayed, report.kept, report.to) == (2, 2, None)
    assert await yard.bodies(yard.name) == [yard.name.encode()]
    assert await yard.bodies(other) == [other.encode()]
    assert await yard.bodies(dlq) == [f"{other}.gone".encode(), b"homeless"]


async def test_edits_are_shown_and_kept_and_nothing_is_sent_in_a_dry_run(yard: Yard) -> None:
    await yard.publish(yard.lot, b'{"to":"old@x.org","cc":"c"}', b"no json")
    shown: list[str] = []
    watch = Watch(on_changes=lambda name, changes: shown.extend(*[c.lines() for c in changes[:1]]))
    edits = (set_edit("body.to=new@x.org"), unset_edit("body.cc"))
    request = ReplayRequest(yard.lot, edits=edits, dry_run=True)
    dry = await replay(yard.link, request, watch)
    assert (dry.replayed, dry.edited, dry.kept) == (1, 1, 1)
    assert shown == ['- body.to: "old@x.org"', '+ body.to: "new@x.org"']
    assert await yard.bodies(yard.name) == []
    report = await replay(yard.link, replace(request, dry_run=False))
    assert (report.replayed, report.edited, report.kept) == (1, 1, 1)
    (sent,) = await yard.drain(yard.name)
    assert sent.body == b'{"to":"new@x.org"}'
    kept = json.loads(sent.headers[EDITED])
    assert [(each["path"], each["old"]) for each in kept] == [
        ("body.to", "old@x.org"),
        ("body.cc", "c"),
    ]
    assert await yard.bodies(yard.lot) == [b"no json"]


async def test_it_stops_at_the_first_refusal_and_loses_nothing(
    yard: Yard, unique: Callable[[str], str]
) -> None:
    full = unique("full")
    await yard.declare(full, max_length=2, overflow="reject-publish")
    await yard.publish(yard.lot, *NUMBERS)
    report = await replay(yard.link, ReplayRequest(yard.lot, Choice(limit=5), Route(full)))
    there, here = await yard.bodies(full), await yard.bodies(yard.lot)
    assert "not confirmed" in report.stopped
    assert report.replayed == len(there) == 2
    assert there + here == NUMBERS


async def test_a_request_that_makes_no_sense(yard: Yard) -> None:
    with pytest.raises(ConfigurationError, match="say where to replay"):
        await replay(yard.link, ReplayRequest(yard.name))
    with pytest.raises(ConfigurationError, match="into itself"):
        ReplayRequest(yard.lot, route=Route(yard.lot))
    with pytest.raises(ConfigurationError, match="rate"):
        ReplayRequest(yard.lot, rate_per_s=0)
    with pytest.raises(ConfigurationError, match="one queue, or"):
        ReplayRequest(yard.lot, route=Route("q", original=True))
    with pytest.raises(ConfigurationError, match="no queue"):
        await replay(yard.link, ReplayRequest(yard.lot, route=Route(f"{yard.name}.nowhere")))
