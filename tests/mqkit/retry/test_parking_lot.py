"""The tools, and a retry that really waits, against both brokers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ConfigurationError, ConnectionRefused
from mqkit.message import Delivery
from mqkit.retry import ParkingLotTools, ReplayReport, Selection, to_parking_lot, to_tier
from mqkit.retry.headers import ATTEMPT, REPLAYS, Failure
from mqkit.retry.parking_lot import MAX_PEEK
from mqkit.retry.replay import MAX_REPLAYS
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Credentials

pytestmark = pytest.mark.anyio

Bench: TypeAlias = Any
"""The fixture's type lives in conftest.py, which no test module can import."""

NUMBERS = [b"%d" % number for number in range(7)]
FAILURE = Failure("ValueError", "oops", datetime(2025, 1, 2, tzinfo=UTC))


def tools(bench: Bench) -> ParkingLotTools:
    return ParkingLotTools(NativeTransport(), bench.endpoint, timeout_s=20)


async def one(bench: Bench, queue: str) -> Delivery:
    """The next message of ``queue``, waiting for it."""
    channel = await bench.connection.channel()
    arrived: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()

    def on_delivery(delivery: Delivery) -> None:
        if not arrived.done():
            arrived.set_result(delivery)

    await channel.consume(queue, on_delivery, no_ack=True)
    async with asyncio.timeout(20):
        delivery = await arrived
    await channel.close()
    return delivery


async def test_a_message_in_a_tier_comes_back_to_its_queue_and_only_once(bench: Bench) -> None:
    await bench.publish(bench.name, b"body", message_id="m1", headers={"CC": [bench.lot]})
    assert await bench.bodies(bench.lot) == [b"body"]
    for attempt in (1, 2, 3):
        delivery = await one(bench, bench.name)
        assert delivery.headers.get(ATTEMPT, 0) == attempt - 1
        message = to_tier(delivery, bench.name, 50, FAILURE)
        channel = await bench.connection.channel(confirms=True)
        (confirmed,) = await channel.publish_many([message])
        assert await confirmed
    last = await one(bench, bench.name)
    assert (last.body, last.message_id, last.headers[ATTEMPT]) == (b"body", "m1", 3)
    assert await bench.bodies(bench.lot) == []
    assert await bench.bodies(bench.name) == []


async def test_ls_counts_parking_lots_and_tells_which_are_missing(bench: Bench) -> None:
    await bench.publish(bench.lot, *NUMBERS)
    names = [bench.name, bench.lot, "nowhere.parked"]
    found = {lot.name: lot for lot in await tools(bench).ls(names)}
    assert set(found) == {bench.lot, "nowhere.parked"}
    assert (found[bench.lot].messages, found[bench.lot].queue) == (len(NUMBERS), bench.name)
    assert not found["nowhere.parked"].exists


async def test_peek_shows_the_oldest_and_leaves_all_in_order(bench: Bench) -> None:
    await bench.publish(bench.lot, *NUMBERS)
    for _ in range(2):
        seen = await tools(bench).peek(bench.lot, 3)
        assert [message.delivery.body for message in seen] == NUMBERS[:3]
    assert len(await tools(bench).peek(bench.lot, 100)) == len(NUMBERS)
    assert await bench.bodies(bench.lot) == NUMBERS


async def test_peek_into_an_empty_lot_shows_nothing(bench: Bench) -> None:
    assert await tools(bench).peek(bench.lot) == ()


@pytest.mark.parametrize("limit", [0, MAX_PEEK + 1])
async def test_the_bound_of_peek(bench: Bench, limit: int) -> None:
    with pytest.raises(ConfigurationError, match=str(MAX_PEEK)):
        await tools(bench).peek(bench.lot, limit)


async def test_replay_sends_all_back_in_order_and_empties_the_lot(bench: Bench) -> None:
    bodies = [b"%d" % number for number in range(250)]
    await bench.publish(bench.lot, *bodies, message_id="m")
    progress: list[ReplayReport] = []
    report = await tools(bench).replay(bench.lot, on_progress=progress.append)
    assert (report.replayed, report.total, report.stopped) == (250, 250, "")
    assert [item.replayed for item in progress] == [100, 200, 250]
    replayed = await bench.drain(bench.name)
    assert [delivery.body for delivery in replayed] == bodies
    assert {delivery.headers[REPLAYS] for delivery in replayed} == {1}
    assert await bench.bodies(bench.lot) == []


async def test_replay_of_a_selection_leaves_the_others_in_their_places(bench: Bench) -> None:
    for number, body in enumerate(NUMBERS):
        await bench.publish(bench.lot, body, message_id=f"m{number}")
    chosen = Selection(message_ids=frozenset({"m1", "m4", "m6"}))
    report = await tools(bench).replay(bench.lot, chosen, limit=2)
    assert (report.replayed, report.skipped) == (2, 3)
    assert await bench.bodies(bench.name) == [b"1", b"4"]
    assert await bench.bodies(bench.lot) == [b"0", b"2", b"3", b"5", b"6"]


async def test_what_is_not_replayed_is_there_again_before_the_replay_returns(bench: Bench) -> None:
    await bench.publish(bench.lot, *NUMBERS, message_id="m1")
    sent = await tools(bench).replay(bench.lot, Selection(message_ids=frozenset({"other"})))
    assert (sent.skipped, sent.replayed) == (len(NUMBERS), 0)
    (lot,) = await tools(bench).ls([bench.lot])
    assert lot.messages == len(NUMBERS)


async def test_a_dry_run_moves_nothing(bench: Bench) -> None:
    await bench.publish(bench.lot, *NUMBERS)
    report = await tools(bench).replay(bench.lot, dry_run=True)
    assert (report.replayed, report.dry_run) == (len(NUMBERS), True)
    assert await bench.bodies(bench.name) == []
    assert await bench.bodies(bench.lot) == NUMBERS


async def test_a_message_replayed_too_often_stays(bench: Bench) -> None:
    await bench.publish(bench.lot, b"tired", headers={REPLAYS: MAX_REPLAYS})
    await bench.publish(bench.lot, b"fresh", headers={REPLAYS: MAX_REPLAYS - 1})
    report = await tools(bench).replay(bench.lot)
    assert (report.replayed, report.guarded) == (1, 1)
    assert await bench.bodies(bench.name) == [b"fresh"]
    assert await bench.bodies(bench.lot) == [b"tired"]


async def test_a_replay_ends_though_every_message_fails_again_at_once(bench: Bench) -> None:
    await bench.publish(bench.lot, *NUMBERS)
    consuming = await bench.connection.channel()
    publishing = await bench.connection.channel(confirms=True)
    parking: list[asyncio.Task[None]] = []
    all_failed = asyncio.Event()

    async def park_again(delivery: Delivery) -> None:
        message = to_parking_lot(delivery, bench.name, "again", FAILURE)
        for future in await publishing.publish_many([message]):
            assert await future

    def on_delivery(delivery: Delivery) -> None:
        parking.append(asyncio.ensure_future(park_again(delivery)))
        if len(parking) == len(NUMBERS):
            all_failed.set()

    await consuming.consume(bench.name, on_delivery, no_ack=True)
    report = await tools(bench).replay(bench.lot, rate_per_s=1e6)
    assert report.seen == report.replayed == len(NUMBERS)
    async with asyncio.timeout(20):
        await all_failed.wait()
    await asyncio.gather(*parking)
    assert sorted(await bench.bodies(bench.lot)) == NUMBERS


async def test_a_replay_stops_at_the_first_refusal_and_loses_nothing(bench: Bench) -> None:
    full = f"{bench.name}.full"
    channel = await bench.connection.channel()
    limits = {"x-max-length": 2, "x-overflow": "reject-publish"}
    await channel.declare_queue(Queue(full, arguments=limits))
    try:
        await bench.publish(bench.lot, *NUMBERS)
        report = await tools(bench).replay(bench.lot, to=full, rate_per_s=1e6, limit=5)
        there, here = await bench.bodies(full), await bench.bodies(bench.lot)
        assert "not confirmed" in report.stopped
        assert report.replayed == len(there) == 2
        assert there + here == NUMBERS
    finally:
        await channel.delete_queue(full)


async def test_the_rate_is_kept_by_waiting_between_windows(bench: Bench) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    await bench.publish(bench.lot, *NUMBERS)
    await replace(tools(bench), sleep=sleep).replay(bench.lot, rate_per_s=2)
    assert waits == [1.0, 1.0, 1.0]


async def test_purge_empties_a_parking_lot_and_nothing_else(bench: Bench) -> None:
    await bench.publish(bench.lot, *NUMBERS)
    await bench.publish(bench.name, b"at work")
    with pytest.raises(ConfigurationError, match="not a parking lot"):
        await tools(bench).purge(bench.name)
    assert await tools(bench).purge(bench.lot) == len(NUMBERS)
    assert await bench.bodies(bench.lot) == []
    assert await bench.bodies(bench.name) == [b"at work"]


async def test_what_is_not_there_is_said_so(bench: Bench) -> None:
    for call in (tools(bench).peek, tools(bench).replay, tools(bench).purge):
        with pytest.raises(ConfigurationError, match=r"no queue 'nowhere\.parked'"):
            await call("nowhere.parked")
    with pytest.raises(ConfigurationError, match="no queue"):
        await tools(bench).replay(bench.lot, to=f"{bench.name}.nowhere")


async def test_a_replay_needs_to_know_where_to(bench: Bench) -> None:
    with pytest.raises(ConfigurationError, match="say where to"):
        await tools(bench).replay("email-dlq")
    with pytest.raises(ConfigurationError, match="into itself"):
        await tools(bench).replay(bench.lot, to=bench.lot)


async def test_a_wrong_password_is_an_error_and_not_shown(bench: Bench) -> None:
    endpoint = replace(bench.endpoint, credentials=Credentials("guest", "sesame"))
    with pytest.raises(ConnectionRefused) as refused:
        await replace(tools(bench), endpoint=endpoint).ls(["a.parked"])
    assert "sesame" not in str(refused.value)


async def test_an_overflow_lands_in_the_parking_lot_and_can_be_replayed(bench: Bench) -> None:
    small = f"{bench.name}.small"
    limits = {"x-max-length": 2, "x-overflow": "drop-head", "x-dead-letter-exchange": ""}
    channel = await bench.connection.channel()
    await channel.declare_queue(
        Queue(small, arguments={**limits, "x-dead-letter-routing-key": bench.lot})
    )
    try:
        await bench.publish(small, *NUMBERS)
        seen = await tools(bench).peek(bench.lot, 10)
        assert [message.delivery.body for message in seen] == NUMBERS[:5]
        assert {message.reason for message in seen} == {"the queue was full"}
        report = await tools(bench).replay(bench.lot)
        assert report.replayed == 5
        assert await bench.bodies(small) == NUMBERS[5:]
        replayed = await bench.drain(bench.name)
        assert [delivery.body for delivery in replayed] == NUMBERS[:5]
        assert not any("x-death" in delivery.headers for delivery in replayed)
    finally:
        await channel.delete_queue(small)
