"""A message in JSON: its properties and its payload, in both directions."""

from __future__ import annotations

import base64
import binascii
from codecs import getincrementaldecoder
from collections.abc import Generator, Iterator
from dataclasses import fields
from typing import Any, NamedTuple

from mqkit.wire import (
    LENIENT,
    EncodeError,
    Properties,
    decode_header,
    decode_shortstr,
    encode_header,
)
from reference_broker.core.message.content import Body, Content
from reference_broker.core.queue.lease import Lease
from reference_broker.http.request.answer import Row, bad_request
from reference_broker.http.request.json_value import json_value, key_text

PIECE_OCTETS = 3 * 64 * 1024
"""Octets of a body that are encoded at once: whole groups of three."""

PIECE_CHARACTERS = 256 * 1024
"""Characters of base64 that are decoded at once (1.5 ms): whole groups of four."""

_NUMBERS = ("delivery_mode", "priority", "timestamp")
_HEADERS = "headers"
_TEXTS = tuple(
    field.name for field in fields(Properties) if field.name not in (*_NUMBERS, _HEADERS)
)


class Payload(NamedTuple):
    """A message's body as JSON has it, and how it is encoded."""

    shown: str
    encoding: str


class Got(NamedTuple):
    """A message that a request got: its lease, its content as the request is to see it (a lease has
    none any more when its queue is deleted), and the number of messages that were ready after it.
    """

    lease: Lease
    content: Content
    message_count: int
    payload: Payload | None = None
    """The payload of a large message, which was made in portions."""


LONG_BYTES = 1 << 20
"""Octets of a body whose payload is made in portions: to encode one of 16 MiB at once is 25 ms."""


def properties_from_json(value: Any) -> Properties:
    """The properties that a publish request names; names that AMQP does not have are ignored.

    Raises :exc:`ApiError` 400 for a value of another type, in RabbitMQ's words.
    """
    if value == []:  # what a get request shows for a message without properties
        value = {}
    if not isinstance(value, dict):
        raise bad_request(["not_json_object", "properties"])
    for name in _NUMBERS:
        number = value.get(name, 0)
        if isinstance(number, bool) or not isinstance(number, int):
            raise bad_request(["not_int", name])
    for name in _TEXTS:
        if not isinstance(value.get(name, ""), str):
            raise bad_request(["not_string", name])
    if not isinstance(value.get(_HEADERS, {}), dict):
        raise bad_request(["not_json_object", _HEADERS])
    known = (*_NUMBERS, *_TEXTS, _HEADERS)
    return Properties(**{name: value[name] for name in known if name in value})


def header_of(properties: Properties, body: bytes) -> bytes:
    """The content header of a message. Raises :exc:`ApiError` 400 when one can't be sent."""
    try:
        return encode_header(len(body), properties)
    except (EncodeError, UnicodeEncodeError) as error:
        raise bad_request(str(error)) from error


def payload_from_json(payload: Any, encoding: Any) -> bytes:
    """The body that a publish request carries. Raises :exc:`ApiError` 400."""
    return b"".join(payload_pieces(payload, encoding))


def payload_pieces(payload: Any, encoding: Any) -> Iterator[bytes]:
    """The body that a publish request carries, a portion of work for each piece. Raises
    :exc:`ApiError` 400."""
    if not isinstance(payload, str):
        raise bad_request("payload_not_string")
    if encoding == "string":
        try:
            yield payload.encode()
        except UnicodeEncodeError as error:
            raise bad_request(str(error)) from error
    elif encoding == "base64":
        yield from _decoded(payload)
    else:
        raise bad_request(["unsupported_encoding", str(encoding)])


def _decoded(payload: str) -> Iterator[bytes]:
    for start in range(0, len(payload), PIECE_CHARACTERS):
        piece = payload[start : start + PIECE_CHARACTERS]
        is_last = start + PIECE_CHARACTERS >= len(payload)
        try:
            if not is_last and "=" in piece:
                raise ValueError("padding is at the end")
            yield base64.b64decode(piece, validate=True)
        except (binascii.Error, ValueError):
            raise bad_request(["not_base64", payload[:80]]) from None


def message_row(got: Got, *, text: bool, truncate: int | None) -> Row:
    """The row of a message that was got. ``message_count`` is how many were left in the queue after
    it.

    With ``text`` a payload that is UTF-8 is shown as it is, and everything else in base64.
    ``truncate`` cuts the payload, not ``payload_bytes``.
    """
    lease, content, message_count, payload = got
    exchange, offset = decode_shortstr(content.route, 0)
    routing_key, _ = decode_shortstr(content.route, offset, LENIENT)
    if payload is None:
        payload = payload_to_json(content.body[:truncate], text=text)
    return {
        "payload_bytes": len(content.body),
        "redelivered": lease.redelivered,
        "exchange": exchange,
        "routing_key": key_text(routing_key),
        "message_count": message_count,
        "properties": properties_to_json(content.header),
        "payload": payload.shown,
        "payload_encoding": payload.encoding,
    }


def properties_to_json(header: bytes) -> Row | list[Any]:
    """The properties that a content header has; ``[]`` for none, as RabbitMQ has it."""
    _, properties = decode_header(header)
    shown = {
        field.name: json_value(value)
        for field in fields(properties)
        if (value := getattr(properties, field.name)) is not None
    }
    return shown or []


def payload_to_json(body: Body, *, text: bool) -> Payload:
    """A message's body as JSON has it; see :func:`message_row`."""
    steps = payload_steps(body, text=text)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            payload: Payload = end.value
            return payload


def payload_steps(
    body: Body, *, text: bool, truncate: int | None = None
) -> Generator[None, None, Payload]:
    """The steps of :func:`payload_to_json`, of the first octets if they are to be truncated: a
    portion of work each."""
    view = memoryview(body)[:truncate]
    starts = range(0, len(view), PIECE_OCTETS)
    shown: list[str] = []
    if text:
        decoder = getincrementaldecoder("utf-8")()
        try:
            for start in starts:
                shown.append(decoder.decode(view[start : start + PIECE_OCTETS]))
                yield
            shown.append(decoder.decode(b"", final=True))
            return Payload("".join(shown), "string")
        except UnicodeDecodeError:
            shown.clear()
    for start in starts:
        shown.append(base64.b64encode(view[start : start + PIECE_OCTETS]).decode())
        yield
    return Payload("".join(shown), "base64")
