"""mqkit_spark.columns.schema: which columns are taken, and what is said of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.columns.schema import COLUMN_TYPES, Columns, Given, check
from mqkit_spark.options import MessageIds, SinkOptions

OPTIONS = SinkOptions(url="amqp://h/", exchange="x")
STRINGS = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}


def fields(*columns: tuple[str, str]) -> list[Given]:
    """Columns whose types are the same by both of Spark's names, but for a map of strings."""
    return [Given(name, kind, STRINGS if kind == "map" else kind) for name, kind in columns]


def test_every_column_is_taken_with_each_of_its_types() -> None:
    for name, kinds in COLUMN_TYPES.items():
        for kind in kinds:
            if kind == "struct":
                continue  # test_header_types has them
            columns = [(name, kind)] if name == "body" else [("body", "binary"), (name, kind)]
            assert check(fields(*columns), OPTIONS).names == tuple(each for each, _ in columns)


def test_ids_come_from_the_column_where_there_is_one() -> None:
    body = ("body", "string")
    assert check(fields(body), OPTIONS) == Columns(("body",), MessageIds.AUTO)
    with_id = fields(body, ("message_id", "string"))
    assert check(with_id, OPTIONS).message_ids is MessageIds.COLUMN
    told = SinkOptions(url="amqp://h/", exchange="x", message_ids=MessageIds.NONE)
    assert check(with_id, told).message_ids is MessageIds.NONE


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([("key", "string")], "there is no column 'body'; make one, for example with to_json"),
        ([("body", "int")], "column 'body' is int, expected binary or string"),
        ([("body", "string"), ("delay", "int")], "column 'delay' has no meaning for AMQP"),
        ([("body", "struct<a:int>")], "column 'body' is a struct, a map or an array; make text"),
        ([("body", "string"), ("headers", "int")], "column 'headers' is int, expected a map, a st"),
        ([("body", "string"), ("body", "string")], "column 'body' is there twice"),
        ([("body", "string"), ("priority", "double")], "expected bigint or int or smallint"),
    ],
)
def test_what_cannot_be_a_message_is_refused_in_words(
    columns: list[tuple[str, str]], words: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        check(fields(*columns), OPTIONS)
    assert words in str(error.value)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as error:
        check(fields(("a", "int"), ("b", "int")), SinkOptions(url="amqp://h/"))
    for words in ("column 'a'", "column 'b'", "no column 'body'", "nothing says where to"):
        assert words in str(error.value)


def test_something_must_say_where_to() -> None:
    body = ("body", "string")
    plain = SinkOptions(url="amqp://h/")
    assert check(fields(body, ("routing_key", "string")), plain)
    assert check(fields(body, ("exchange", "string")), plain)
    assert check(fields(body), SinkOptions(url="amqp://h/", routing_key="a-queue"))
    with pytest.raises(ConfigurationError, match="default exchange routes by queue name"):
        check(fields(body), SinkOptions(url="amqp://h/", exchange=""))


def test_a_struct_as_body_is_refused_with_what_to_write_instead() -> None:
    struct = f"struct<{'some_column:string,' * 50}n:int>"
    with pytest.raises(ConfigurationError) as error:
        check(fields(("body", struct)), OPTIONS)
    assert "make text of it, for example with to_json(struct(*)) as body" in str(error.value)
    assert len(str(error.value)) < 500


def test_a_queue_that_deduplicates_needs_ids_that_can_be_trusted() -> None:
    body = fields(("body", "string"))
    with_id = [*body, *fields(("message_id", "string"))]
    dedup = SinkOptions(url="amqp://h/", exchange="x", dedup=True)
    assert check(with_id, dedup).message_ids is MessageIds.COLUMN
    with pytest.raises(ConfigurationError, match="the ids are automatic"):
        check(body, dedup)
    assert check(body, replace(dedup, deterministic=True)).message_ids is MessageIds.AUTO
    for columns in (body, with_id):
        with pytest.raises(ConfigurationError, match="there is no id to tell duplicates by"):
            check(columns, replace(dedup, message_ids=MessageIds.NONE, deterministic=True))


def test_ids_from_a_column_need_the_column() -> None:
    told = SinkOptions(url="amqp://h/", exchange="x", message_ids=MessageIds.COLUMN)
    with pytest.raises(ConfigurationError, match="messageIds is column, but"):
        check(fields(("body", "string")), told)
