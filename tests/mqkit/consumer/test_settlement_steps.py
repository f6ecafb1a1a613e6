"""Carrying out settlements: the order of republish and ack, and what failures end in."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from mqkit.consumer.pause import Pause
from mqkit.consumer.settlement import QueueRules
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.stats import Stats
from mqkit.errors import Closed, StaleDelivery
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.retry import Drop, Park, RetryPolicy
from mqkit.testing.clock import FakeClock
from mqkit.transport.seam import Channel

pytestmark = pytest.mark.anyio

RETRYING = QueueRules("q", RetryPolicy.of("1s"))


class Wire:
    """A channel and a publisher that write down, in order, what they are told."""

    def __init__(self, outcome: Outcome | Exception | None = None) -> None:
        self.said: list[str] = []
        self.outcome = outcome if outcome is not None else Confirmed()
        self.is_stale = False

    async def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        self._settle(f"ack {delivery_tag}{' multiple' if multiple else ''}")

    async def nack(
        self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True
    ) -> None:
        self._settle(f"nack {delivery_tag}{' requeue' if requeue else ''}")

    async def publish_many(self, messages: Sequence[Message]) -> list[Outcome]:
        self.said += [f"publish {message.routing_key}" for message in messages]
        await asyncio.sleep(0)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        self.said.append("answered")
        return [self.outcome] * len(messages)

    def _settle(self, said: str) -> None:
        if self.is_stale:
            raise StaleDelivery("the channel is gone")
        self.said.append(said)


def arrival(wire: Wire, tag: int = 7) -> Arrival:
    delivery = Delivery("", "q", b"", Properties(message_id="m"), tag, False)
    return Arrival(cast(Channel, wire), delivery)


def settler_of(wire: Wire, rules: QueueRules = RETRYING) -> tuple[Settler, FakeClock]:
    clock = FakeClock()
    pause = Pause(clock=clock, rng=lambda: 1.0)
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    return Settler(rules, wire.publish_many, Stats(), pause, lambda: moment), clock


async def test_a_delivery_is_acked_only_when_its_republish_is_confirmed() -> None:
    wire = Wire()
    settler, _ = settler_of(wire)
    await settler.settle(arrival(wire), ValueError("no"))
    assert wire.said == ["publish q.retry.1s", "answered", "ack 7"]
    assert settler.stats == Stats(retried=1)


@pytest.mark.parametrize(
    "outcome",
    [
        Unknown("cut"),
        Rejected(RejectReason.UNROUTABLE),
        Rejected(RejectReason.NACKED),
        Closed("the client is closed"),
    ],
)
@pytest.mark.parametrize("raised", [ValueError("no"), Park("bad")])
async def test_without_a_confirm_it_is_requeued_after_a_pause(
    outcome: Outcome | Exception, raised: Exception
) -> None:
    wire = Wire(outcome)
    settler, clock = settler_of(wire)
    task = asyncio.create_task(settler.settle(arrival(wire), raised))
    await clock.until_waiting(1)
    assert not [line for line in wire.said if "ack" in line]
    clock.advance(60)
    await task
    assert wire.said[-1] == "nack 7 requeue"
    assert settler.stats == Stats(requeued=1, unconfirmed_republishes=1)


@pytest.mark.parametrize(
    ("rules", "raised", "said", "stats"),
    [
        (RETRYING, None, ["ack 7"], Stats(acked=1)),
        (RETRYING, Drop(), ["ack 7"], Stats(dropped=1)),
        (RETRYING, Park("x"), ["publish q.parked", "answered", "ack 7"], Stats(parked=1)),
        (QueueRules("q", dead_letters=True), Park("x"), ["nack 7"], Stats(dead_lettered=1)),
    ],
)
async def test_each_settlement_is_carried_out_and_counted(
    rules: QueueRules, raised: Exception | None, said: list[str], stats: Stats
) -> None:
    wire = Wire()
    settler, _ = settler_of(wire, rules)
    assert await settler.settle(arrival(wire), raised)
    assert wire.said == said
    assert settler.stats == stats


@pytest.mark.parametrize("raised", [None, Drop(), ValueError("no"), Park("bad")])
async def test_settling_on_a_channel_that_is_gone_is_counted_and_nothing_else(raised: Any) -> None:
    wire = Wire()
    wire.is_stale = True
    settler, _ = settler_of(wire)
    assert not await settler.settle(arrival(wire), raised)
    assert settler.stats == Stats(stale_acks=1)


async def test_what_waits_is_given_back_without_a_pause() -> None:
    wire = Wire()
    settler, _ = settler_of(wire)
    inbox: asyncio.Queue[Arrival | None] = asyncio.Queue()
    for tag in (1, 2):
        inbox.put_nowait(arrival(wire, tag))
    await settler.give_back_all(inbox)
    assert wire.said == ["nack 1 requeue", "nack 2 requeue"]
    assert settler.stats == Stats(returned=2)


async def test_the_log_has_no_traceback_for_what_a_handler_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = Wire()
    settler, _ = settler_of(wire)
    caplog.set_level("INFO")
    await settler.settle(arrival(wire), Park("bad VAT id"))
    await settler.settle(arrival(wire), ValueError("a mistake"))
    asked, failed = caplog.records
    assert asked.exc_info is None
    assert failed.exc_info is not None
    assert "goes to the parking lot after Park: bad VAT id" in asked.message
    assert "goes to a retry tier after ValueError: a mistake" in failed.message


async def test_one_exception_of_a_batch_is_one_line_for_each_fate(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = Wire()
    settler, _ = settler_of(wire)
    error = ValueError("a mistake")
    deliveries = [arrival(wire, tag).delivery for tag in range(6)]
    raised = [error, None, Park("bad"), error, Park("bad too"), error]
    settlements = settler.decide_all(deliveries, raised)
    assert [type(each).__name__ for each in settlements] == ["Republish", "Ack"] + 4 * ["Republish"]
    assert [line.split(" after ")[1] for line in caplog.messages] == [
        "ValueError: a mistake",
        "Park: bad",
        "Park: bad too",
    ]
    assert caplog.messages[0].startswith("message m and 2 others from q goes to a retry tier")
