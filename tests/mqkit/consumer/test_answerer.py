"""A question's handler: what is answered, in what order with the ack, and what is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from pydantic import BaseModel

from mqkit.consumer.answerer import Answerer
from mqkit.consumer.handler import MessageHandler
from mqkit.consumer.pause import Pause
from mqkit.consumer.settlement import QueueRules
from mqkit.consumer.settlement_steps import Arrival, Settler
from mqkit.consumer.stats import Stats
from mqkit.errors import ConnectionLost
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason
from mqkit.retry import Drop, Park, RetryLater, RetryPolicy
from mqkit.rpc.headers import DEADLINE, ERROR_TYPE
from mqkit.testing.clock import FakeClock
from mqkit.transport.seam import Channel

pytestmark = pytest.mark.anyio

ADDRESS = "amq.rabbitmq.reply-to.x"
NOW_MS = 1_000


class Ask(BaseModel):
    number: int


class Broker:
    """A channel and a publisher that write down, in order, what they are told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.published: list[Message] = []
        self.outcomes: list[Outcome | Exception] = []

    async def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        self.said.append("ack")

    async def publish_many(self, messages: Sequence[Message]) -> list[Outcome]:
        await asyncio.sleep(0)
        outcome = self.outcomes.pop(0) if self.outcomes else Confirmed()
        if isinstance(outcome, Exception):
            raise outcome
        self.said += [f"publish {message.routing_key}" for message in messages]
        self.published += messages
        return [outcome] * len(messages)

    async def handle(
        self,
        function: Callable[[Ask], object],
        body: bytes = b'{"number": 1}',
        headers: dict[str, Any] | None = None,
    ) -> Stats:
        rules = QueueRules("q", RetryPolicy.of("1s"))
        settler = Settler(rules, self.publish_many, Stats(), Pause(clock=FakeClock()))
        handler = MessageHandler(function)
        answerer = Answerer(handler, handler.arguments, settler, lambda: NOW_MS)
        properties = Properties(
            message_id="m", correlation_id="c", reply_to=ADDRESS, headers=headers or {}
        )
        delivery = Delivery("", "q", body, properties, 7, False)
        arrival = Arrival(cast(Channel, self), delivery)
        await settler.settle(arrival, await answerer.outcome(delivery))
        return settler.stats


def raising(error: Exception) -> Callable[[Ask], object]:
    async def handle(ask: Ask) -> None:
        raise error

    return handle


async def double(ask: Ask) -> int:
    return 2 * ask.number


async def test_a_value_is_answered_and_then_acked() -> None:
    broker = Broker()
    assert await broker.handle(double) == Stats(acked=1)
    assert broker.said == [f"publish {ADDRESS}", "ack"]
    assert broker.published[0].body == b"2"


@pytest.mark.parametrize(
    ("error", "said", "stats"),
    [
        (KeyError("no"), [f"publish {ADDRESS}", "ack"], Stats(dropped=1, failed_questions=1)),
        (RetryLater("1s"), ["publish q.retry.1s", "ack"], Stats(retried=1)),
        (Park("bad"), [f"publish {ADDRESS}", "publish q.parked", "ack"], Stats(parked=1)),
        (Drop("old"), [f"publish {ADDRESS}", "ack"], Stats(dropped=1)),
    ],
)
async def test_an_error_is_the_answer_and_a_signal_is_obeyed(
    error: Exception, said: list[str], stats: Stats
) -> None:
    broker = Broker()
    assert await broker.handle(raising(error)) == stats
    assert broker.said == said
    if said[0] == f"publish {ADDRESS}":
        assert broker.published[0].properties.headers == {ERROR_TYPE: type(error).__name__}


async def test_a_body_that_does_not_fit_is_answered_and_not_parked() -> None:
    broker = Broker()
    stats = await broker.handle(double, b'{"number": "secret"}')
    assert stats == Stats(dropped=1, failed_questions=1, misfits=1)
    (answer,) = broker.published
    assert answer.properties.headers == {ERROR_TYPE: "BodyMisfit"}
    assert b"secret" not in answer.body


async def test_a_late_question_is_acked_and_its_handler_does_not_begin() -> None:
    broker = Broker()
    begun: list[Ask] = []
    assert await broker.handle(begun.append, headers={DEADLINE: NOW_MS}) == Stats(
        dropped=1, late_questions=1
    )
    assert (begun, broker.said) == ([], ["ack"])
    await broker.handle(double, headers={DEADLINE: NOW_MS + 1})
    assert broker.said[1:] == [f"publish {ADDRESS}", "ack"]


async def test_a_value_that_json_has_not_is_an_error_of_the_handler() -> None:
    broker = Broker()
    stats = await broker.handle(lambda ask: object())
    assert stats == Stats(dropped=1, failed_questions=1)
    assert broker.published[0].properties.headers == {ERROR_TYPE: "ConfigurationError"}


async def test_an_answer_that_is_too_large_becomes_an_error() -> None:
    broker = Broker()
    broker.outcomes = [Rejected(RejectReason.TOO_LARGE, "2000 bytes; the limit is 1000")]
    assert await broker.handle(double) == Stats(acked=1)
    assert broker.published[1].properties.headers == {ERROR_TYPE: "TooLargeAnswer"}
    assert b"the limit is 1000" in broker.published[1].body


async def test_an_answer_that_is_lost_is_counted_and_its_question_acked() -> None:
    broker = Broker()
    broker.outcomes = [ConnectionLost("cut")]
    assert await broker.handle(double) == Stats(acked=1, lost_answers=1)
    assert broker.said == ["ack"]
