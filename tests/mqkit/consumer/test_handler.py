"""Signatures of handlers, decoding, and calling them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from mqkit import App, ConfigurationError, Delivery, ManualDelivery, Properties
from mqkit.consumer.handler import HandlerTimeout, MessageHandler
from mqkit.incoming import BodyMisfit
from mqkit.testing.clock import FakeClock
from mqkit.timing.app_clock import OF_CONSUMER, Working

pytestmark = pytest.mark.anyio


class Item(BaseModel):
    number: int
    secret: str = ""


@dataclass
class Point:
    x: int


class Unrepresentable:
    pass


class Generates:
    async def __call__(self, item: Item) -> AsyncIterator[None]:
        yield


def delivery(body: bytes) -> Delivery:
    return Delivery("", "q", body, Properties(), 1, False)


async def takes_item(item: Item) -> None: ...
def generates(item: Item) -> Iterator[None]:
    yield


async def generates_async(item: Item) -> AsyncIterator[None]:
    yield


async def keyword_only(item: Item, *, limit: int) -> None: ...
async def no_expression(item: "an item") -> None: ...  # type: ignore # noqa: F722
async def no_attribute(item: asyncio.Nothing) -> None: ...  # type: ignore[name-defined]
async def takes_item_and_delivery(item: Item, delivery: Delivery) -> None: ...
async def takes_bytes(body: bytes) -> None: ...
async def takes_text(body: str) -> None: ...
async def takes_dict(body: dict[str, int]) -> None: ...
async def takes_point(body: Point) -> None: ...
async def takes_delivery(delivery: Delivery) -> None: ...
async def takes_anything(delivery): ...  # type: ignore[no-untyped-def]
async def takes_defaults(body: bytes, number: int = 3) -> None: ...


@pytest.mark.parametrize(
    ("function", "body", "expected"),
    [
        (takes_item, b'{"number": 1}', Item(number=1)),
        (takes_bytes, b"\xff", b"\xff"),
        (takes_text, "grün".encode(), "grün"),
        (takes_dict, b'{"a": 1}', {"a": 1}),
        (takes_point, b'{"x": 1}', Point(1)),
        (takes_defaults, b"x", b"x"),
        (partial(takes_defaults, number=4), b"x", b"x"),
    ],
)
def test_the_annotation_says_what_a_body_becomes(function: Any, body: bytes, expected: Any) -> None:
    assert MessageHandler(function).arguments(delivery(body)) == (expected,)


def test_a_handler_may_have_the_delivery_as_well_or_alone() -> None:
    message = delivery(b'{"number": 1}')
    assert MessageHandler(takes_item_and_delivery).arguments(message) == (Item(number=1), message)
    assert MessageHandler(takes_delivery).arguments(message) == (message,)
    assert MessageHandler(takes_anything).arguments(message) == (message,)


@pytest.mark.parametrize(
    ("function", "body", "words"),
    [
        (takes_item, b"", "Invalid JSON"),
        (takes_item, b"{}", "number: Field required"),
        (takes_item, b'{"number": "x"}', "number: Input should be a valid integer"),
        (takes_text, b"\xff", "not UTF-8"),
        (takes_dict, b"[]", "body: Input should be"),
    ],
)
def test_a_body_that_does_not_fit_says_where(function: Any, body: bytes, words: str) -> None:
    with pytest.raises(BodyMisfit, match=words):
        MessageHandler(function).arguments(delivery(body))


def test_what_was_in_the_body_is_not_in_the_error() -> None:
    with pytest.raises(BodyMisfit) as caught:
        MessageHandler(takes_item).arguments(delivery(b'{"number": "hunter2", "secret": 7}'))
    assert "hunter2" not in str(caught.value)


async def none() -> None: ...
async def three(a: bytes, b: bytes, c: bytes) -> None: ...
async def second_is_no_delivery(a: bytes, b: bytes) -> None: ...
async def unknown_type(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
async def not_from_json(a: Unrepresentable) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (none, "takes 0 arguments"),
        (three, "takes 3 arguments"),
        (second_is_no_delivery, "must be annotated Delivery"),
        (unknown_type, "Nowhere"),
        (not_from_json, "can't be made from JSON"),
        (generates, "has a yield in it"),
        (generates_async, "has a yield in it"),
        (Generates(), "has a yield in it"),
        (keyword_only, "'limit' by keyword"),
        (no_expression, "can't be resolved"),
        (no_attribute, "can't be resolved"),
        (3, "a handler is a function"),
    ],
)
def test_a_signature_that_cant_be_served_is_refused_at_once(function: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        MessageHandler(function)


class Callable_:
    def __init__(self) -> None:
        self.got: list[bytes] = []

    async def __call__(self, body: bytes) -> None:
        self.got.append(body)


async def test_an_object_with_call_is_a_handler() -> None:
    target = Callable_()
    handler = MessageHandler(target)
    await handler(*handler.arguments(delivery(b"x")))
    assert target.got == [b"x"]


async def test_a_plain_function_that_takes_too_long_is_given_up() -> None:
    go = threading.Event()

    def waits(body: bytes) -> None:
        go.wait()

    handler = MessageHandler(waits, timeout_s=0.05)
    try:
        with pytest.raises(HandlerTimeout, match=r"longer than 0\.05 s"):
            await handler(b"")
    finally:
        go.set()


async def test_its_own_timeout_error_is_not_ours() -> None:
    async def fails(body: bytes) -> None:
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        await MessageHandler(fails, timeout_s=60)(b"")


class LimitingClock(FakeClock):
    """A clock of a whole app."""

    def limit(self, delay_s: float) -> AbstractAsyncContextManager[object]:
        return self.timeout(delay_s)

    def utc_now(self) -> datetime:
        return datetime.fromtimestamp(self.monotonic_s(), UTC)

    def watch(self, working: Working) -> None: ...


@contextmanager
def in_a_consumer() -> Iterator[LimitingClock]:
    """The context of a consumer's tasks, in an app with a clock."""
    clock = LimitingClock()
    before = OF_CONSUMER.set(clock)
    try:
        yield clock
    finally:
        OF_CONSUMER.reset(before)


async def hanging(timeout_s: float) -> None:
    async def hang(body: bytes) -> None:
        await asyncio.Event().wait()

    await MessageHandler(hang, timeout_s=timeout_s)(b"")


async def test_by_a_consumers_clock_it_takes_too_long_when_that_says_so() -> None:
    with in_a_consumer() as clock:
        running = asyncio.create_task(hanging(timeout_s=3600))
    await clock.until_waiting(1)
    clock.advance(3599)
    await asyncio.sleep(0)
    assert not running.done()
    clock.advance(1)
    with pytest.raises(HandlerTimeout, match="longer than 3600 s"):
        await running


async def test_by_a_consumers_clock_its_own_timeout_error_is_not_ours() -> None:
    async def fail(body: bytes) -> None:
        raise TimeoutError("the database's")

    with in_a_consumer(), pytest.raises(TimeoutError, match="the database's") as raised:
        await MessageHandler(fail, timeout_s=3600)(b"")
    assert not isinstance(raised.value, HandlerTimeout)


async def test_being_cancelled_from_outside_is_no_failure() -> None:
    begun = asyncio.Event()

    async def waits(body: bytes) -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(MessageHandler(waits)(b""))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# -- methods -------------------------------------------------------------------------------------


class Desk:
    """An object whose methods are handlers."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    async def handle(self, item: Item, delivery: Delivery) -> None:
        self.seen.append((item.number, delivery.body))

    def handle_plainly(self, body: bytes) -> None:
        self.seen.append(body)

    async def settle(self, item: Item, delivery: ManualDelivery) -> None: ...

    @classmethod
    async def of_the_class(cls, body: str) -> None: ...

    @staticmethod
    async def of_nobody(body: str) -> None: ...


async def test_the_methods_of_an_object_are_handlers() -> None:
    desk, app = Desk(), App("amqp://127.0.0.1/")
    for method in (desk.handle, desk.handle_plainly):
        handler = MessageHandler(method)
        await handler(*handler.arguments(delivery(b'{"number": 3}')))
    assert desk.seen == [(3, b'{"number": 3}'), b'{"number": 3}']
    app.consumer("q")(desk.handle)
    app.consumer("q", concurrency=2)(desk.handle_plainly)
    app.consumer("q", ack="manual")(desk.settle)
    app.consumer("q")(Desk.of_the_class)
    app.consumer("q")(Desk.of_nobody)


@pytest.mark.parametrize("function", [Desk.handle, Desk.handle_plainly, Desk.settle])
def test_a_method_without_its_object_is_refused_and_says_what_to_do(function: Any) -> None:
    name = function.__name__
    with pytest.raises(ConfigurationError, match=rf"without its object: .*\(obj\.{name}\)"):
        MessageHandler(function)


# -- handlers that settle their messages themselves ----------------------------------------------


async def takes_manual(delivery: ManualDelivery) -> None: ...
async def takes_item_and_manual(item: Item, delivery: ManualDelivery) -> None: ...
def takes_manual_plainly(delivery: ManualDelivery) -> None: ...


def test_a_handler_that_settles_takes_a_manual_delivery() -> None:
    async def settle(raised: Exception | None) -> bool:
        raise AssertionError(raised)

    manual = ManualDelivery.of(delivery(b'{"number": 1}'), settle)
    for function, expected in (
        (takes_manual, (manual,)),
        (takes_anything, (manual,)),
        (takes_item_and_manual, (Item(number=1), manual)),
    ):
        handler = MessageHandler(function, settles_itself=True)
        assert handler.arguments(manual) == expected
        assert handler.takes_delivery


@pytest.mark.parametrize(
    ("function", "settles_itself", "words"),
    [
        (takes_manual, False, 'register it with ack="manual"'),
        (takes_item_and_manual, False, 'register it with ack="manual"'),
        (takes_item, True, "last argument must be annotated ManualDelivery"),
        (takes_delivery, True, "last argument must be annotated ManualDelivery"),
        (takes_item_and_delivery, True, "last argument must be annotated ManualDelivery"),
        (takes_manual_plainly, True, "must be an async def"),
        (three, True, "takes 3 arguments"),
    ],
)
def test_a_signature_that_does_not_go_with_its_mode_is_refused(
    function: Any, settles_itself: bool, words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        MessageHandler(function, settles_itself=settles_itself)


@pytest.mark.parametrize(
    ("function", "takes_it"),
    [
        (takes_item, False),
        (takes_bytes, False),
        (takes_delivery, True),
        (takes_anything, True),
        (takes_item_and_delivery, True),
    ],
)
def test_who_sees_the_delivery_is_known(function: Any, takes_it: bool) -> None:
    assert MessageHandler(function).takes_delivery is takes_it
