"""A handler with middleware around it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from mqkit import BodyMisfit, Delivery, HandleNext, Park
from mqkit.client import Client
from mqkit.consumer.handler import HandlerCancelled, HandlerExit, MessageHandler
from mqkit.message import Properties
from mqkit.middleware import Middleware, SurroundedHandler
from mqkit.observation.observation import Observation
from mqkit.settings import Settings
from mqkit.transport.native import NativeTransport

pytestmark = pytest.mark.anyio


class Item(BaseModel):
    number: int


def delivery(body: bytes = b'{"number": 1}') -> Delivery:
    return Delivery("", "q", body, Properties(), 1, False)


async def one(item: Item) -> int:
    return item.number


async def test_the_first_is_the_outermost_and_sees_what_is_returned() -> None:
    said: list[Any] = []

    def named(name: str) -> Any:
        async def middleware(delivery: Delivery, handle: HandleNext) -> object:
            said.append(f"before {name}")
            result = await handle(delivery)
            said.append((name, result))
            return result

        return middleware

    handler = SurroundedHandler(MessageHandler(one, timeout_s=7), [named("a"), named("b")])
    assert await handler(*handler.arguments(delivery())) == 1
    assert said == ["before a", "before b", ("b", 1), ("a", 1)]
    assert (handler.timeout_s, handler.takes_delivery) == (7, True)


async def test_it_sees_what_is_raised_a_misfit_too() -> None:
    async def middleware(delivery: Delivery, handle: HandleNext) -> object:
        with pytest.raises(BodyMisfit):
            await handle(delivery)
        raise Park("not for us")

    handler = SurroundedHandler(MessageHandler(one), [middleware])
    with pytest.raises(Park, match="not for us"):
        await handler(*handler.arguments(delivery(b"no json")))


async def test_the_end_of_a_program_and_a_foreign_cancel_are_as_a_handlers_own() -> None:
    async def ends(delivery: Delivery, handle: HandleNext) -> object:
        raise SystemExit(3)

    async def awaits(delivery: Delivery, handle: HandleNext) -> object:
        lost = asyncio.get_running_loop().create_future()
        lost.cancel()
        return await lost

    for middleware, error in ((ends, HandlerExit), (awaits, HandlerCancelled)):
        with pytest.raises(error):
            await SurroundedHandler(MessageHandler(one), [middleware])(delivery())


async def test_without_middleware_nothing_is_in_between() -> None:
    """The client's own publisher, and the handler itself: see :mod:`mqkit.client`."""

    async def middleware(delivery: Delivery, handle: HandleNext) -> object:
        return await handle(delivery)

    observation = Observation(Settings.load())
    client = Client(Settings.load(), NativeTransport(), None, [], observation)
    assert client.publish == client._publisher.publish
    assert client.publish_many == client._publisher.publish_batch
    assert client._wrap is None
    around = Middleware()
    around.add_handle(middleware)
    surrounded = Client(Settings.load(), NativeTransport(), None, [], observation, around)
    assert surrounded.publish == surrounded._publisher.publish
    assert surrounded._wrap is not None
