"""mqkit_spark.columns.plain_rows: the messages that reading row by row makes, or none at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.message import Message
from mqkit_spark.columns.plain_rows import plain_messages
from mqkit_spark.columns.rows import RowReader
from mqkit_spark.columns.schema import Columns
from mqkit_spark.columns.values import Unreadable
from mqkit_spark.options import MessageIds, SinkOptions

TEXTS = st.none() | st.sampled_from(["", "a", "\u20ac", "e" * 63, "e" * 64, "\u20ac" * 86])
NAMES = (
    *("body", "exchange", "routing_key", "message_id", "content_type", "content_encoding"),
    *("correlation_id", "reply_to", "type", "app_id"),
)


@st.composite
def batches(draw: st.DrawFn) -> tuple[RowReader, list[list[Any]]]:
    names = ["body", *draw(st.lists(st.sampled_from(NAMES[1:]), unique=True))]
    rows = draw(st.integers(0, 4))
    bodies = draw(st.sampled_from([st.text(max_size=4), st.binary(max_size=4)]))
    kinds = {"body": st.none() | bodies}
    # Mostly of one value a column: a batch where every column is right has to be likely.
    columns = [
        [draw(kind)] * rows
        if draw(st.booleans())
        else draw(st.lists(kind, min_size=rows, max_size=rows))
        for kind in (kinds.get(name, TEXTS) for name in names)
    ]
    ids = [each for each in MessageIds if each is not MessageIds.COLUMN or "message_id" in names]
    said = st.none() | st.sampled_from(["", "said"])
    options = SinkOptions(
        url="amqp://127.0.0.1/",
        exchange=draw(said),
        routing_key=draw(said),
        content_type=draw(said),
        persistent=draw(st.none() | st.booleans()),
        max_message_bytes=draw(st.sampled_from([1, 4, 100])),
    )
    return RowReader(options, Columns(tuple(names), draw(st.sampled_from(ids))), "job", 3), columns


@given(batches())
def test_the_messages_are_those_of_the_reader(batch: tuple[RowReader, list[list[Any]]]) -> None:
    reader, columns = batch
    one_by_one = list(reader.read(columns, 40))
    messages = plain_messages(reader, columns, 40)
    if messages is not None:
        assert messages == one_by_one
    elif all(isinstance(each, Message) for each in one_by_one):
        # A text of more than 63 characters may be too long in UTF-8: the reader looks.
        texts = [text for column in columns[1:] for text in column]
        assert any(text is not None and len(text) > 63 for text in texts)


def reader_of(*names: str, **options: Any) -> RowReader:
    given_options = SinkOptions(url="amqp://127.0.0.1/", routing_key="q", **options)
    return RowReader(given_options, Columns(names, MessageIds.AUTO), "job", 3)


def test_a_batch_of_texts_is_read_as_a_whole() -> None:
    reader = reader_of("body", "type")
    messages = plain_messages(reader, [["a", "b"], ["t", None]], 7)
    assert messages is not None
    assert messages == list(reader.read([["a", "b"], ["t", None]], 7))
    assert [each.properties.message_id for each in messages] == ["job/3/7", "job/3/8"]


@pytest.mark.parametrize(
    ("reader", "columns"),
    [
        (reader_of("body", "priority"), [["a"], [1]]),
        (reader_of("body", deterministic=True, dedup=True), [["a"]]),
        (reader_of("body"), [["a", None]]),
        (reader_of("body"), [["a", Unreadable("text that is not UTF-8")]]),
        (reader_of("body", max_message_bytes=1), [["\u20ac"]]),
        (reader_of("body", "app_id"), [["a"], ["e" * 256]]),
    ],
    ids=["more than texts", "deduplication", "null", "unreadable", "too large", "too long"],
)
def test_others_are_left_to_the_reader(reader: RowReader, columns: list[list[Any]]) -> None:
    assert plain_messages(reader, columns, 0) is None
