"""mqkit_spark.columns.rows: rows into messages, and which rows can't be."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.message import Message, Properties
from mqkit_spark.columns.header_types import Plain, TableOf
from mqkit_spark.columns.rows import BadRow, RowReader, message_id
from mqkit_spark.columns.schema import Columns
from mqkit_spark.columns.values import Unreadable
from mqkit_spark.options import MessageIds, SinkOptions

OPTIONS = SinkOptions(url="amqp://h/", exchange="x", message_ids=MessageIds.NONE)
HEADERS = TableOf(Plain("string"))


def read(options: SinkOptions = OPTIONS, **columns: list[Any]) -> list[Message | BadRow]:
    ids = options.message_ids or MessageIds.NONE
    reader = RowReader(options, Columns(tuple(columns), ids, HEADERS), "job", 3)
    return list(reader.read(list(columns.values()), 100))


def test_every_column_finds_its_place() -> None:
    moment = datetime(2001, 1, 1, 0, 47, tzinfo=UTC)
    assert read(
        body=["text ä"],
        exchange=["over-ridden"],
        routing_key=["k"],
        headers=[[("a", "1"), ("b", None)]],
        message_id=["m"],
        content_type=["t/x"],
        content_encoding=["e"],
        correlation_id=["c"],
        reply_to=["r"],
        type=["y"],
        app_id=["a"],
        priority=[255],
        expiration_ms=[0],
        timestamp=[moment],
        options=replace(OPTIONS, message_ids=MessageIds.COLUMN),
    ) == [
        Message(
            "x",
            "k",
            "text ä".encode(),
            Properties(
                content_type="t/x",
                content_encoding="e",
                headers={"a": "1", "b": None},
                correlation_id="c",
                reply_to="r",
                message_id="m",
                priority=255,
                expiration_ms=0,
                timestamp=moment,
                type="y",
                app_id="a",
            ),
        )
    ]


def test_an_option_wins_over_its_column_and_columns_stand_in_for_options() -> None:
    told = replace(OPTIONS, routing_key="told", content_type="t/told", persistent=False)
    (message,) = read(told, body=[b"\x00"], routing_key=["k"], content_type=["t/x"])
    assert isinstance(message, Message)
    assert (message.routing_key, message.properties.content_type) == ("told", "t/told")
    assert not message.properties.persistent
    (message,) = read(replace(OPTIONS, exchange=None), body=[b""], exchange=["mine"])
    assert isinstance(message, Message)
    assert (message.exchange, message.routing_key, message.body) == ("mine", "", b"")


def test_automatic_ids_name_job_partition_and_row_and_bad_rows_count() -> None:
    items = read(replace(OPTIONS, message_ids=MessageIds.AUTO), body=["a", None, "c"])
    ids = [item.properties.message_id for item in items if isinstance(item, Message)]
    assert ids == ["job/3/100", "job/3/102"]
    assert isinstance(items[1], BadRow)
    assert (items[1].row, items[1].why) == (101, "body is null")
    assert items[1].remains.properties.message_id == "job/3/101"
    assert message_id("j", 0, 0) == "j/0/0"


LONG = "ä" * 128


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"body": [None]}, "body is null"),
        ({"body": ["x" * 11]}, "body has 11 bytes, more than maxMessageBytes (10)"),
        ({"body": ["ä" * 6]}, "body has 12 bytes, more than maxMessageBytes (10)"),
        ({"body": ["x"], "routing_key": [LONG]}, "routing_key is longer than 255 bytes"),
        ({"body": ["x"], "routing_key": [None]}, "routing_key is null"),
        ({"body": ["x"], "reply_to": [LONG]}, "reply_to is longer than 255 bytes"),
        ({"body": ["x"], "priority": [256]}, "priority is not from 0 to 255"),
        ({"body": ["x"], "priority": [-1]}, "priority is not from 0 to 255"),
        ({"body": ["x"], "expiration_ms": [-1]}, "expiration_ms is not from 0 to 315360000000"),
        (
            {"body": ["x"], "expiration_ms": [315_360_000_001]},
            "expiration_ms is not from 0 to 315360000000",
        ),
        ({"body": ["x"], "headers": [[(LONG, "v")]]}, "headers: a short string holds 255 bytes"),
        ({"body": ["x"], "headers": [[("a", "x" * 2**17)]]}, "headers: 131083 octets, and 128992"),
        ({"body": ["x"], "headers": [Unreadable("nothing")]}, "headers has nothing"),
        ({"body": ["x"], "timestamp": [datetime(1969, 12, 31)]}, "timestamp is before 1970"),
    ],
)
def test_rows_that_cannot_be_messages(columns: dict[str, list[Any]], why: str) -> None:
    (item,) = read(replace(OPTIONS, max_message_bytes=10), **columns)
    assert isinstance(item, BadRow)
    assert item.row == 100
    assert why in item.why


@pytest.mark.parametrize("value", [math.nan, Decimal("1E-9") * 2**31])
def test_a_header_that_amqp_has_no_place_for_makes_its_row_bad_and_no_other(value: object) -> None:
    kind = TableOf(Plain("double"))
    columns = Columns(("body", "headers"), MessageIds.NONE, kind)
    reader = RowReader(OPTIONS, columns, "job", 0)
    bad, good = reader.read([["x", "y"], [[("a", value)], [("a", 1.5)]]], 0)
    assert isinstance(bad, BadRow)
    assert bad.why.startswith("headers: ")
    assert isinstance(good, Message)
    assert good.properties.headers == {"a": 1.5}


def test_a_null_id_is_bad_where_ids_come_from_the_column() -> None:
    (item,) = read(replace(OPTIONS, message_ids=MessageIds.COLUMN), body=["x"], message_id=[None])
    assert isinstance(item, BadRow)
    assert (item.row, item.why) == (100, "message_id is null")
    (item,) = read(replace(OPTIONS, exchange=None), body=["x"], exchange=[None], routing_key=["k"])
    assert isinstance(item, BadRow)
    assert (item.row, item.why) == (100, "exchange is null")


def test_as_much_of_a_bad_row_remains_as_amqp_can_carry() -> None:
    options = replace(OPTIONS, max_message_bytes=10, message_ids=MessageIds.COLUMN)
    columns = {"message_id": ["id"], "content_type": ["t"], "type": [LONG]}
    (item,) = read(options, body=["whole"], routing_key=["k"], **columns)
    assert isinstance(item, BadRow)
    assert item.remains == Message(
        "x", "k", b"whole", Properties(content_type="t", message_id="id")
    )
    (item,) = read(options, body=["x" * 11], routing_key=[LONG], message_id=[LONG])
    assert isinstance(item, BadRow)
    assert item.remains == Message("x", "", b"", Properties())


def test_deduplication_sends_the_id_as_the_plugins_header_too() -> None:
    options = replace(OPTIONS, message_ids=MessageIds.COLUMN, dedup=True)
    headers = [[("mine", "1")], [("x-deduplication-header", "other")]]
    first, second = read(options, body=["a", "b"], message_id=["1", "2"], headers=headers)
    assert isinstance(first, Message)
    assert isinstance(second, Message)
    assert first.properties.headers == {"mine": "1", "x-deduplication-header": "1"}
    assert second.properties.headers == {"x-deduplication-header": "other"}


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_row_is_bad_exactly_when_amqp_has_no_room_for_it(key: str, correlation_id: str) -> None:
    (item,) = read(body=[b""], routing_key=[key], correlation_id=[correlation_id])
    fits = len(key.encode()) <= 255 and len(correlation_id.encode()) <= 255
    assert isinstance(item, Message) is fits


@given(st.lists(st.binary(max_size=5)), st.integers(0, 10))
def test_splitting_into_batches_changes_nothing(bodies: list[bytes], cut: int) -> None:
    options = replace(OPTIONS, message_ids=MessageIds.AUTO)
    reader = RowReader(options, Columns(("body",), MessageIds.AUTO), "job", 0)
    whole = list(reader.read([bodies], 0))
    head, tail = bodies[:cut], bodies[cut:]
    assert [*reader.read([head], 0), *reader.read([tail], len(head))] == whole
