"""Faults of the broker in the test's process, as clients see them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pika
import pytest

import mqkit
from mqkit import Confirmed, Rejected, Unknown
from mqkit.testing import reference_broker
from mqkit.testing.application import running
from mqkit.testing.in_process.vhost import ReferenceBroker
from mqkit.topology import loads

pytestmark = pytest.mark.anyio


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with reference_broker() as broker:
        yield broker


@pytest.fixture
async def app(broker: ReferenceBroker) -> AsyncIterator[mqkit.App]:
    settings = mqkit.Settings.load(reconnect_first_s=0.01, on_blocked="fail")
    app = mqkit.App(topology=loads("queues:\n  q: {}\n"), settings=settings)
    async with running(app, broker):
        yield app


async def until(app: mqkit.App, state: str) -> None:
    while app.state != state:  # noqa: ASYNC110 - a state has no event
        await asyncio.sleep(0)


async def test_a_dropped_confirm_leaves_the_message_there(
    app: mqkit.App, broker: ReferenceBroker
) -> None:
    broker.faults.drop_before_confirm(publish=2)
    assert isinstance(await app.publish("", "q", "1"), Confirmed)
    assert isinstance(await app.publish("", "q", "2", resend=False), Unknown)
    assert [each.body for each in await broker.queue("q").take(2)] == [b"1", b"2"]


async def test_a_message_is_sent_again_and_is_there_twice(
    app: mqkit.App, broker: ReferenceBroker
) -> None:
    broker.faults.drop_before_confirm()
    assert isinstance(await app.publish("", "q", "1"), Confirmed)
    assert len(await broker.queue("q").take(2)) == 2


async def test_a_confirm_arrives_before_its_connection_is_dropped(
    app: mqkit.App, broker: ReferenceBroker
) -> None:
    broker.faults.drop_after_confirm()
    assert isinstance(await app.publish("", "q", "1", resend=False), Confirmed)
    await until(app, "connecting")
    await until(app, "ready")
    assert isinstance(await app.publish("", "q", "2"), Confirmed)
    assert len(await broker.queue("q").take(2)) == 2


async def test_a_nack_of_one_in_a_batch(app: mqkit.App, broker: ReferenceBroker) -> None:
    broker.faults.nack(publish=3)
    batch = [app.message("", "q", str(number)) for number in range(5)]
    outcomes = await app.publish_batch(batch)
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [Confirmed, Confirmed, Rejected, Confirmed, Confirmed]


async def test_all_connections_are_dropped(app: mqkit.App, broker: ReferenceBroker) -> None:
    broker.faults.drop_connections()
    await until(app, "connecting")
    await until(app, "ready")


@pytest.mark.parametrize(
    ("begin", "end"), [("block", "unblock"), ("fill_disk", "free_disk")], ids=["memory", "disk"]
)
async def test_publishers_are_blocked(
    app: mqkit.App, broker: ReferenceBroker, begin: str, end: str
) -> None:
    getattr(broker.faults, begin)()
    unread = asyncio.create_task(app.publish("", "q", "1", deadline=5))
    await until(app, "blocked")
    assert isinstance(await app.publish("", "q", "2"), Rejected)
    getattr(broker.faults, end)()
    await until(app, "ready")
    assert isinstance(await unread, Confirmed)
    assert isinstance(await app.publish("", "q", "3"), Confirmed)


async def test_a_consumer_that_is_cancelled_comes_back(
    app: mqkit.App, broker: ReferenceBroker
) -> None:
    handled: asyncio.Queue[str] = asyncio.Queue()

    @app.consumer("q")
    async def take(body: str) -> None:
        handled.put_nowait(body)

    await app.publish("", "q", "1")
    await handled.get()
    assert broker.faults.cancel_consumers("q") == 1
    assert broker.faults.cancel_consumers("another") == 0
    await app.publish("", "q", "2")
    assert await handled.get() == "2"
    assert app.stats.cancelled_by_broker == 1


async def test_answers_are_held(app: mqkit.App, broker: ReferenceBroker) -> None:
    broker.faults.hold_answers()
    publishing = asyncio.create_task(app.publish("", "q", "1"))
    await broker.clock.advance("1s")  # time goes on without them
    assert not publishing.done()
    broker.faults.release_answers()
    broker.faults.release_answers()
    assert isinstance(await publishing, Confirmed)


def test_a_declaration_is_refused(broker: ReferenceBroker) -> None:
    broker.faults.refuse_queue("bad")
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        connection.channel().queue_declare("good")
        with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="refused by a test") as why:
            connection.channel().queue_declare("bad")
        assert why.value.reply_code == 406
        broker.faults.accept_queue("bad")
        connection.channel().queue_declare("bad")


def test_the_next_test_has_none_of_it(broker: ReferenceBroker) -> None:
    with reference_broker() as faulty:
        faulty.faults.block()
        faulty.faults.fill_disk()
        faulty.faults.hold_answers()
        faulty.faults.nack()
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare("q")
        channel.basic_publish("", "q", b"x", mandatory=True)
    assert broker.queue("q").blocking.one().body == b"x"
