"""The product and the version, as /api/overview has them."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.topology import take_snapshot
from mqkit.topology.live.product import RABBITMQ, REFERENCE_BROKER, Product


@pytest.mark.parametrize(
    ("overview", "product"),
    [
        ({"rabbitmq_version": "3.6.10"}, Product(RABBITMQ, (3, 6, 10))),
        (
            {"product_name": "X", "product_version": "4.3.0-rc.2", "rabbitmq_version": "9"},
            Product("X", (4, 3, 0)),
        ),
        ({"rabbitmq_version": "3.13.0+12.g1"}, Product(RABBITMQ, (3, 13, 0))),
        ({}, Product(RABBITMQ)),
        ({"exchange_types": [{"name": "topic"}, 5]}, Product(RABBITMQ, (), frozenset(["topic"]))),
    ],
)
def test_it_is_read(overview: dict[str, Any], product: Product) -> None:
    assert Product.of(overview) == product


def test_it_is_shown() -> None:
    assert str(Product(RABBITMQ, (3, 10, 8))) == "RabbitMQ 3.10.8"
    assert str(Product(RABBITMQ)) == "RabbitMQ"


@pytest.mark.anyio
async def test_both_brokers_say_what_they_are(broker: Any) -> None:
    product = (await take_snapshot(broker.management_url, "/")).product
    assert product is not None
    assert product.name == (REFERENCE_BROKER if broker.is_reference else RABBITMQ)
    assert len(product.version) == 3
    assert product.exchange_types >= {"direct", "topic", "fanout", "headers"}
