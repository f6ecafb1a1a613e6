"""Publishing through middleware: single messages and batches, on a publisher that writes down."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.message import Message
from mqkit.middleware import PublishNext, SurroundedPublisher
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason

pytestmark = pytest.mark.anyio

TERMS = {"deadline_s": 2.0, "resend": False, "on_blocked": "fail"}
REFUSED = Rejected(RejectReason.REFUSED)


class Written:
    """A publisher that confirms everything."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []

    async def publish(self, message: Message, *_: Any, **terms: Any) -> Outcome:
        assert terms == TERMS
        self.said.append((message.routing_key,))
        return Confirmed(message.routing_key)

    async def publish_batch(
        self, messages: Sequence[Message], *_: Any, **terms: Any
    ) -> list[Outcome]:
        assert terms == TERMS
        self.said.append(tuple(message.routing_key for message in messages))
        await asyncio.sleep(0)
        return [Confirmed(message.routing_key) for message in messages]


def messages(*keys: str) -> list[Message]:
    return [Message("", key, b"") for key in keys]


def marking(mark: str) -> Any:
    async def middleware(message: Message, publish: PublishNext) -> Outcome:
        key = message.routing_key + mark
        outcome = await publish(Message("", key, message.body))
        assert outcome == Confirmed(key + ("" if mark == "2" else "2"))
        return outcome

    return middleware


async def test_the_first_is_the_outermost() -> None:
    written = Written()
    publisher = SurroundedPublisher(written, [marking("1"), marking("2")])
    outcome = await publisher.publish(Message("", "k", b""), **TERMS)  # type: ignore[arg-type]
    assert outcome == Confirmed("k12")
    assert written.said == [("k12",)]


async def test_a_message_that_waits_for_room_is_made_before() -> None:
    seen: list[bytes] = []

    async def look(message: Message, publish: PublishNext) -> Outcome:
        seen.append(message.body)
        return await publish(message)

    publisher = SurroundedPublisher(Written(), [look])
    await publisher.publish(
        Message("", "k", b""),
        fill=lambda message: Message("", "k", b"body"),
        **TERMS,  # type: ignore[arg-type]
    )
    assert seen == [b"body"]


async def test_a_batch_goes_through_and_stays_one_batch_in_order() -> None:
    written = Written()
    slow = asyncio.Event()

    async def middleware(message: Message, publish: PublishNext) -> Outcome:
        if message.routing_key == "a":
            await slow.wait()
        if message.routing_key == "c":
            slow.set()
        return await publish(message)

    publisher = SurroundedPublisher(written, [middleware])
    outcomes = await publisher.publish_batch(messages("a", "b", "c"), **TERMS)  # type: ignore[arg-type]
    assert outcomes == [Confirmed("a"), Confirmed("b"), Confirmed("c")]
    assert written.said == [("a", "b", "c")]


async def test_middleware_may_answer_for_itself_and_publish_again() -> None:
    written = Written()

    async def middleware(message: Message, publish: PublishNext) -> Outcome:
        if message.routing_key == "no":
            return REFUSED
        await publish(message)
        return await publish(Message("", "again", b""))

    publisher = SurroundedPublisher(written, [middleware])
    outcomes = await publisher.publish_batch(messages("no", "yes"), **TERMS)  # type: ignore[arg-type]
    assert outcomes == [REFUSED, Confirmed("again")]
    assert written.said == [("yes",), ("again",)]


async def test_a_middleware_that_raises_has_nothing_of_a_batch_published() -> None:
    written = Written()

    async def middleware(message: Message, publish: PublishNext) -> Outcome:
        if message.routing_key == "b":
            raise ValueError("b is wrong")
        return await publish(message)

    publisher = SurroundedPublisher(written, [middleware])
    with pytest.raises(ValueError, match="b is wrong"):
        await publisher.publish_batch(messages("a", "b"), **TERMS)  # type: ignore[arg-type]
    assert written.said == []


@pytest.mark.parametrize("batch", [False, True])
async def test_a_forgotten_return_is_told(batch: bool) -> None:
    async def forgets(message: Message, publish: PublishNext) -> Any:
        await publish(message)

    publisher = SurroundedPublisher(Written(), [forgets])
    with pytest.raises(ConfigurationError, match="forgets returned None and not an outcome"):
        if batch:
            await publisher.publish_batch(messages("a"), **TERMS)  # type: ignore[arg-type]
        else:
            await publisher.publish(messages("a")[0], **TERMS)  # type: ignore[arg-type]


async def test_an_empty_batch() -> None:
    assert await SurroundedPublisher(Written(), [marking("1")]).publish_batch([], **TERMS) == []  # type: ignore[arg-type]
