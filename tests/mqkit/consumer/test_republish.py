"""Republishing where a tier or lot was deleted: declared again, once, and published once more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import pika
import pytest

from mqkit import App, Delivery, Settings
from mqkit.consumer.republish import Republisher
from mqkit.errors import ConnectionLost
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.retry.names import parking_lot_name, tier_name
from mqkit.topology import loads

pytestmark = pytest.mark.anyio

NACKED = Rejected(RejectReason.NACKED)
UNKNOWN = Unknown("the link failed")


class Broker:
    """Queues by name; ``declare`` makes ``declared`` of them again."""

    def __init__(self, *declared: str) -> None:
        self.declared = declared
        self.queues: set[str] = set()
        self.published: list[str] = []
        self.declarations = 0
        self.fails = False
        self.other: dict[str, Outcome] = {}

    async def publish_many(self, messages: Sequence[Message]) -> list[Outcome]:
        await asyncio.sleep(0)
        keys = [message.routing_key for message in messages]
        self.published += keys
        return [self._outcome(key) for key in keys]

    async def declare(self) -> None:
        await asyncio.sleep(0)
        if self.fails:
            raise ConnectionLost("gone")
        self.declarations += 1
        self.queues.update(self.declared)

    def republisher(self) -> Republisher:
        return Republisher(self.publish_many, self.declare)

    def _outcome(self, key: str) -> Outcome:
        if key in self.other:
            return self.other[key]
        return Confirmed() if key in self.queues else Rejected(RejectReason.UNROUTABLE)


def messages(*queues: str) -> list[Message]:
    return [Message("", queue, b"") for queue in queues]


async def test_what_went_nowhere_is_published_once_more_after_a_declaration() -> None:
    broker = Broker("tier", "lot")
    broker.queues.add("lot")
    outcomes = await broker.republisher().publish_many(messages("lot", "tier", "lot"))
    assert outcomes == [Confirmed(), Confirmed(), Confirmed()]
    assert broker.published == ["lot", "tier", "lot", "tier"]


async def test_a_missing_exchange_is_declared_again_too() -> None:
    broker = Broker("x")
    broker.other["x"] = Rejected(RejectReason.NO_EXCHANGE)
    await broker.republisher().publish_many(messages("x"))
    assert (broker.declarations, broker.published) == (1, ["x", "x"])


async def test_what_was_refused_for_another_reason_is_left_as_it_is() -> None:
    broker = Broker("tier")
    broker.other |= {"nacked": NACKED, "unknown": UNKNOWN}
    outcomes = await broker.republisher().publish_many(messages("nacked", "unknown"))
    assert outcomes == [NACKED, UNKNOWN]
    assert broker.declarations == 0


async def test_many_at_once_have_it_declared_once() -> None:
    broker = Broker("tier")
    republisher = broker.republisher()
    told = await asyncio.gather(*[republisher.publish_many(messages("tier")) for _ in range(20)])
    assert told == [[Confirmed()]] * 20
    assert broker.declarations == 1


async def test_it_is_declared_again_each_time_that_it_was_deleted() -> None:
    broker = Broker("tier")
    republisher = broker.republisher()
    for number in range(1, 4):
        broker.queues.clear()
        assert await republisher.publish_many(messages("tier")) == [Confirmed()]
        assert broker.declarations == number


async def test_what_stays_nowhere_says_so() -> None:
    broker = Broker()
    (outcome,) = await broker.republisher().publish_many(messages("tier"))
    assert isinstance(outcome, Rejected)
    assert broker.published == ["tier", "tier"], "once more, and not for ever"


async def test_an_outcome_stays_where_nothing_can_be_declared() -> None:
    broker = Broker("tier")
    broker.queues.add("lot")
    broker.fails = True
    outcomes = await broker.republisher().publish_many(messages("lot", "tier"))
    assert outcomes == [Confirmed(), Rejected(RejectReason.UNROUTABLE)]


WAIT_S = 20.0


def delete(url: str, *queues: str) -> None:
    """By a client of another make, as an operator would."""
    with closing(pika.BlockingConnection(pika.URLParameters(url))) as connection:
        for queue in queues:
            connection.channel().queue_delete(queue)


@pytest.mark.parametrize("transport", ["native", "aio-pika"])
async def test_a_tier_and_a_lot_deleted_under_a_running_app_are_there_again(
    broker: Any, unique: Callable[[str], str], transport: str
) -> None:
    queue = unique("queue")
    tier, lot = tier_name(queue, 100), parking_lot_name(queue)
    topology = loads(f"queues:\n  {queue}: {{retry: {{after: [100ms], then: park}}}}\n")
    app = App(topology=topology, settings=Settings.load(urls=broker.url, transport=transport))
    handled: list[str | None] = []

    @app.consumer(queue)
    async def fail(delivery: Delivery) -> None:
        handled.append(delivery.message_id)
        raise ValueError("always")

    async with app:
        await app.wait_ready(WAIT_S)
        await asyncio.to_thread(delete, broker.url, tier, lot)
        assert await app.publish("", queue, b"x", message_id="one")
        async with asyncio.timeout(WAIT_S):
            while not app.stats.parked:  # noqa: ASYNC110 - nobody tells it
                await asyncio.sleep(0)
        assert handled == ["one", "one"], "no more often than its policy says"
        stats = app.stats
        assert (stats.retried, stats.parked, stats.requeued) == (1, 1, 0)
        assert stats.unconfirmed_republishes == 0
    await asyncio.to_thread(delete, broker.url, queue, tier, lot)
