"""Messages as they are on the wire, as Arrow batches: the columns of
:mod:`~mqkit_spark.columns.deliveries`, each kind of properties and each way looked at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mqkit.transport.native.delivery_run import DeliveryRun, Way
from mqkit_spark.columns.contents import Contents
from mqkit_spark.columns.deliveries import arrow_schema, columns_of_properties
from mqkit_spark.columns.headers import REPLACE, HeadersFormat, readable

if TYPE_CHECKING:
    import pyarrow


def batch_of_run(
    run: DeliveryRun, contents: Contents, headers: HeadersFormat
) -> pyarrow.RecordBatch:
    """The messages as rows, in their order. ``contents`` are those of their properties."""
    import pyarrow as pa

    schema = arrow_schema(headers)
    ways, way_of = _distinct(run.ways)
    kind_of = _positions(contents.kind_of, len(contents.kinds))
    exchanges = pa.array([readable(way.exchange) for way in ways], pa.string())
    routing_keys = pa.array([readable(way.routing_key) for way in ways], pa.string())
    arrays = {
        "body": pa.array(run.bodies, pa.binary()),
        "redelivered": pa.array(run.redelivered, pa.bool_()),
        "message_id": _texts(contents.message_ids),
        "exchange": exchanges.take(way_of),
        "routing_key": routing_keys.take(way_of),
    }
    for name, values in columns_of_properties(contents.kinds, headers).items():
        if name not in arrays:
            arrays[name] = pa.array(values, schema.field(name).type).take(kind_of)
    return pa.record_batch([arrays[name] for name in schema.names], schema=schema)


def _distinct(ways: Sequence[Way]) -> tuple[list[Way], pyarrow.Array]:
    """The ways, each once, and for each message the position of its own."""
    if ways and ways.count(ways[0]) == len(ways):  # mostly; and no way is hashed for it
        return [ways[0]], _positions([0] * len(ways), 1)
    places = {way: place for place, way in enumerate(dict.fromkeys(ways))}
    return list(places), _positions([places[way] for way in ways], len(places))


def _positions(positions: Sequence[int], kinds: int) -> pyarrow.Array:
    import pyarrow as pa

    if kinds == 1:
        return pa.repeat(pa.scalar(0, pa.int32()), len(positions))
    return pa.array(positions, pa.int32())


def _texts(octets: Sequence[bytes | None]) -> pyarrow.Array:
    import pyarrow as pa

    try:
        return pa.array(octets, pa.string())
    except pa.ArrowInvalid:  # some are not UTF-8
        texts = [None if each is None else each.decode("utf-8", REPLACE) for each in octets]
        return pa.array(texts, pa.string())
