"""Signatures of batch handlers, and the decoder of one item."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from mqkit import Batch, ConfigurationError, Delivery, ManualDelivery, Properties
from mqkit.consumer.batches.batch_handler import BatchHandler
from mqkit.incoming import BodyMisfit


class Item(BaseModel):
    number: int


def delivery(body: bytes) -> Delivery:
    return Delivery("", "q", body, Properties(), 1, False)


async def of_items(batch: Batch[Item]) -> None: ...
async def of_octets(batch: Batch[bytes]) -> None: ...
async def of_any(batch: Batch) -> None: ...  # type: ignore[type-arg]
async def not_annotated(batch): ...  # type: ignore[no-untyped-def]
async def of_nothing() -> None: ...
async def three(a: Batch[Item], b: bytes, c: bytes) -> None: ...
async def a_list(batch: list[Item]) -> None: ...
async def of_manual(batch: Batch[ManualDelivery]) -> None: ...
async def one_item(item: Item) -> None: ...


def test_the_type_of_an_item_says_what_a_body_becomes() -> None:
    assert BatchHandler(of_items).decode(delivery(b'{"number": 1}')) == Item(number=1)
    assert BatchHandler(of_octets).decode(delivery(b"\xff")) == b"\xff"
    with pytest.raises(BodyMisfit, match="number"):
        BatchHandler(of_items).decode(delivery(b"{}"))


@pytest.mark.parametrize("function", [of_any, not_annotated])
def test_without_a_type_the_items_are_the_deliveries(function: Any) -> None:
    message = delivery(b"")
    assert BatchHandler(function).decode(message) is message
    assert BatchHandler(function).takes_deliveries
    assert not BatchHandler(of_items).takes_deliveries


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (of_nothing, "takes 0 arguments"),
        (three, "takes 3 arguments"),
        (a_list, r"Batch\[\.\.\.\]"),
        (of_manual, r"Batch\[\.\.\.\]"),
        (one_item, r"Batch\[\.\.\.\]"),
    ],
)
def test_any_other_signature_is_refused_at_once(function: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        BatchHandler(function)
