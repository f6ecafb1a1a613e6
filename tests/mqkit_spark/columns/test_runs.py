"""mqkit_spark.columns.runs: the batch that the deliveries make, each decoded by itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.message import Delivery
from mqkit.transport.native.delivery_run import DeliveryRun, Way
from mqkit.transport.native.exact import from_octets, octets_of
from mqkit.wire import Properties, SizedInt
from mqkit_spark.columns.contents import read
from mqkit_spark.columns.deliveries import arrow_schema, record_batch
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.columns.runs import batch_of_run

pytest.importorskip("pyarrow")

TEXTS = st.sampled_from([None, "", "t", "é", "\udcff"])
PROPERTIES = st.builds(
    Properties,
    content_type=TEXTS,
    content_encoding=TEXTS,
    headers=st.sampled_from([None, {}, {"n": SizedInt("b", 5)}, {"a": [None, {"b": True}]}]),
    delivery_mode=st.sampled_from([None, 1, 2]),
    priority=st.sampled_from([None, 0, 255]),
    correlation_id=TEXTS,
    reply_to=TEXTS,
    expiration=st.sampled_from([None, "", "60000", "soon", "9" * 30]),
    message_id=TEXTS,
    timestamp=st.sampled_from([None, datetime(2026, 1, 1, tzinfo=UTC), 2**50]),
    type=TEXTS,
    user_id=TEXTS,
    app_id=TEXTS,
)
WAYS = st.builds(Way, st.just("c"), st.sampled_from(["", "x"]), st.sampled_from(["k", "\udcff"]))


@st.composite
def runs(draw: st.DrawFn) -> DeliveryRun:
    """Mostly of a few kinds, as the messages of a queue are."""
    kinds = draw(
        st.lists(PROPERTIES.map(octets_of) | st.binary(max_size=6), min_size=1, max_size=3)
    )
    ways = draw(st.lists(WAYS, min_size=1, max_size=2))
    run = DeliveryRun()
    for tag in range(draw(st.integers(0, 8))):
        run.add(
            draw(st.sampled_from(ways)),
            tag,
            draw(st.booleans()),
            draw(st.sampled_from(kinds)),
            draw(st.binary(max_size=3)),
        )
    return run


def one_by_one(run: DeliveryRun) -> list[Delivery]:
    return [
        Delivery(way.exchange, way.routing_key, body, from_octets(octets), tag, redelivered, "c")
        for way, tag, redelivered, octets, body in zip(
            run.ways, run.tags, run.redelivered, run.properties, run.bodies, strict=True
        )
    ]


@given(runs(), st.sampled_from(HeadersFormat))
def test_the_rows_are_those_of_the_deliveries(run: DeliveryRun, headers: HeadersFormat) -> None:
    batch = batch_of_run(run, read(run.properties), headers)
    batch.validate(full=True)
    assert batch.schema == arrow_schema(headers)
    assert batch.equals(record_batch(one_by_one(run), headers))


def test_ids_that_are_no_text_are_readable() -> None:
    run = DeliveryRun()
    names: list[Any] = ["a", "\udcff", None]
    for tag, name in enumerate(names):
        run.add(Way("c", "", "k"), tag, False, octets_of(Properties(message_id=name)), b"")
    batch = batch_of_run(run, read(run.properties), HeadersFormat.MAP)
    assert batch.column("message_id").to_pylist() == ["a", "\ufffd", None]
