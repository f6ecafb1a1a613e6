"""Which handler of a queue gets a message."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from mqkit.consumer.by_type import NO_HANDLER, HandlersByType
from mqkit.consumer.handler import MessageHandler
from mqkit.errors import ConfigurationError
from mqkit.incoming import BodyMisfit
from mqkit.message import Delivery, Properties
from mqkit.retry import Park

pytestmark = pytest.mark.anyio


class OrderPaid(BaseModel):
    cents: int


class OrderCancelled(BaseModel):
    why: str


async def paid(order: OrderPaid) -> str:
    return f"paid {order.cents}"


async def cancelled(order: OrderCancelled, delivery: Delivery) -> str:
    return f"cancelled for {order.why} ({delivery.message_id})"


def both(field: str | None = None) -> HandlersByType:
    handlers = HandlersByType("orders", field)
    handlers.add("OrderPaid", MessageHandler(paid))
    handlers.add("OrderCancelled", MessageHandler(cancelled))
    return handlers


def delivery(body: bytes, type_: str | None = None) -> Delivery:
    return Delivery("", "orders", body, Properties(message_id="m", type=type_), 1, False)


async def told(handlers: HandlersByType, arrived: Delivery) -> Any:
    arguments: Any = handlers.arguments(arrived)
    return await handlers(*arguments)


async def test_the_type_property_chooses() -> None:
    assert await told(both(), delivery(b'{"cents": 5}', "OrderPaid")) == "paid 5"
    arrived = delivery(b'{"why": "late"}', "OrderCancelled")
    assert await told(both(), arrived) == "cancelled for late (m)"


async def test_a_field_of_the_body_chooses() -> None:
    body = b'{"kind": "OrderPaid", "cents": 5}'
    assert await told(both("kind"), delivery(body, "OrderCancelled")) == "paid 5"


@pytest.mark.parametrize(
    ("field", "body", "type_"),
    [
        (None, b"{}", None),
        (None, b"{}", "Order"),
        (None, b"{}", ""),
        ("kind", b"{}", "OrderPaid"),
        ("kind", b'{"kind": 5}', None),
        ("kind", b'["kind"]', None),
        ("kind", b"no json", None),
    ],
)
def test_what_fits_none_is_parked(field: str | None, body: bytes, type_: str | None) -> None:
    with pytest.raises(Park) as parked:
        both(field).arguments(delivery(body, type_))
    assert parked.value.reason == NO_HANDLER


def test_a_body_that_does_not_fit_its_type_is_a_misfit() -> None:
    with pytest.raises(BodyMisfit, match="cents"):
        both().arguments(delivery(b'{"why": "late"}', "OrderPaid"))


def test_a_type_has_one_handler() -> None:
    handlers = both()
    with pytest.raises(ConfigurationError, match="'OrderPaid' already"):
        handlers.add("OrderPaid", MessageHandler(paid))
