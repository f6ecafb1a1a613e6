"""A data folder's content as JSON: a message a line, in RabbitMQ's names, or a record a line.

A message has the names of the management API's get (``payload``, ``payload_encoding``,
``properties``), which are those that its publish takes: a line can be sent back as it is.
"""

from __future__ import annotations

import base64
from typing import Any

from mqkit.wire import WireError, decode_shortstr
from mqkit_cli.render import plain
from reference_broker.core.message.content import Body, Content
from reference_broker.store.doctor.contents import StoredMessage
from reference_broker.store.doctor.inspection import SeenRecord
from reference_broker.store.doctor.queue_names import QueueName
from reference_broker.store.format.record import (
    MESSAGES,
    RecordType,
    decode_bases,
    decode_define,
    decode_definitions,
    decode_extent,
    decode_message,
    decode_message_head,
    decode_ranges,
    decode_start,
    decode_synced,
)

Row = dict[str, Any]


def message_json(
    message: StoredMessage, content: Content, queue: QueueName | None, *, bodies: bool
) -> Row:
    """A message in a queue; ``queue`` is ``None`` where no definition knows it."""
    row: Row = {
        "vhost": queue.vhost if queue else None,
        "queue": queue.name if queue else None,
        "queue_id": message.queue_id,
        "sequence": message.sequence,
        "redelivered": message.redelivered,
        **_route(content.route),
        **_properties(content.header),
        "payload_bytes": len(content.body),
    }
    if bodies:
        row |= _payload(content.body)
    return row | {"position": message.position, "file": message.file, "offset": message.offset}


def record_json(seen: SeenRecord, *, bodies: bool) -> Row:
    """A record of a segment, or a place where none can be read (its ``type`` is null)."""
    row: Row = {
        "file": seen.file,
        "offset": seen.offset,
        "position": seen.position,
        "bytes": seen.size_bytes,
        "type": None,
    }
    if seen.payload is None or seen.kind is None:
        return row
    row["type"] = seen.kind.name
    if seen.kind in MESSAGES:
        return row | _message_record(seen.payload, bodies=bodies)
    return row | _fields(seen.kind, seen.payload)


def _message_record(payload: memoryview, *, bodies: bool) -> Row:
    head, message = decode_message_head(payload), decode_message(payload)
    row: Row = {}
    if head.source is not None:
        row["source"] = {"queue_id": head.source.queue_id, "sequence": head.source.first}
    row |= {
        "entries": [entry._asdict() for entry in head.entries],
        **_route(message.route),
        **_properties(message.header),
        "payload_bytes": message.body_length,
    }
    if bodies and not message.chunks:
        row |= _payload(message.body)
    return row


def _fields(kind: RecordType, payload: memoryview) -> Row:
    """The fields of a record that has no message. A FOOTER's content is told by the records before
    it, and a CHUNK's by the message."""
    match kind:
        case RecordType.SYNCED:
            return {"synced": decode_synced(payload)}
        case RecordType.START:
            return dict(decode_start(payload)._asdict())
        case RecordType.ACK | RecordType.REQUEUE:
            return {"ranges": [each._asdict() for each in decode_ranges(payload)]}
        case RecordType.DEFINE:
            key, value = decode_define(payload)
            return {"key": key, "defined": value is not None}
        case RecordType.DEFINITIONS:
            return {"keys": list(decode_definitions(payload))}
        case RecordType.EXTENT:
            extent = decode_extent(payload)
            return {"copied": {"position": extent.position, "bytes": extent.size_bytes}}
        case RecordType.CENSUS | RecordType.REMOVED:
            return {"segments": decode_bases(payload)}
    return {}


def _route(route: bytes) -> Row:
    exchange, offset = decode_shortstr(route, 0)
    routing_key, _ = decode_shortstr(route, offset)
    return {"exchange": _text(exchange), "routing_key": _text(routing_key)}


def _text(name: str) -> str:
    """A name that isn't UTF-8 can't be told from one that has escapes in it, but can be read."""
    return str(plain(name.encode("utf-8", "surrogateescape")))


def _properties(header: bytes) -> Row:
    """A header that can't be decoded (a client's defect: the broker passes it on as it came) is
    shown in base64, so that the message is not withheld."""
    # With it comes the whole management API: not what the other commands should wait for.
    from reference_broker.http.rows.message import properties_to_json

    try:
        return {"properties": properties_to_json(header)}
    except WireError:
        return {"properties": None, "header_base64": base64.b64encode(header).decode("ascii")}


def _payload(body: Body) -> Row:
    try:
        return {"payload": str(body, "utf-8"), "payload_encoding": "string"}
    except UnicodeDecodeError:
        return {
            "payload": base64.b64encode(body).decode("ascii"),
            "payload_encoding": "base64",
        }
