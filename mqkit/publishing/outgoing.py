"""Python values as messages: the body in bytes, with the content type that says so.

bytes, bytearray, memoryview    as they are     application/octet-stream
str                             UTF-8           text/plain; charset=utf-8
a pydantic model, and anything  JSON            application/json
else that JSON can carry
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from mqkit.drafts import new_outgoing
from mqkit.errors import ConfigurationError
from mqkit.message import Message
from mqkit.publishing.message_ids import new_message_id
from mqkit.publishing.message_options import MessageOptions, with_options

OCTETS = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


def outgoing(
    exchange: str,
    routing_key: str,
    body: object,
    *,
    message_id: str | None = None,
    headers: Mapping[str, Any] | None = None,
    **options: Unpack[MessageOptions],
) -> Message:
    """A message; persistent and mandatory unless the options say otherwise, and with an id that is
    made (uuid4) when none is given.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a body that JSON or UTF-8 can't carry, for
    headers that are no mapping or hold a float that is no number, and for an option with a value
    that AMQP has no place for.
    """
    if type(body) is bytes:  # makes no pair, as an expression would
        octets, content_type = body, OCTETS
    else:
        octets, content_type = encode(body)
    message = new_outgoing(
        exchange,
        routing_key,
        octets,
        content_type,
        {} if headers is None else _checked(headers),
        new_message_id() if message_id is None else message_id,
    )
    return with_options(message, **options) if options else message


def with_body(message: Message, body: object) -> Message:
    """``message`` with another body, and its content type. Raises as :func:`outgoing`."""
    octets, content_type = encode(body)
    properties = replace(message.properties, content_type=content_type)
    return replace(message, body=octets, properties=properties)


def encode(body: object) -> tuple[bytes, str]:
    """The body in bytes, and its content type."""
    if isinstance(body, bytes):
        return body, OCTETS
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body), OCTETS
    try:
        if isinstance(body, str):
            return body.encode(), TEXT
        return (_encode_json or _json_encoder())(body), JSON
    except ValueError as error:
        raise ConfigurationError(
            f"a body of type {type(body).__name__} can't be published: {error}"
            " (bytes, str, a pydantic model, or what JSON can carry)"
        ) from None


_encode_json: Callable[[object], bytes] | None = None


def _json_encoder() -> Callable[[object], bytes]:
    """The encoder, which brings pydantic: imported once, for an import statement at each call would
    cost a quarter of a small body."""
    global _encode_json
    from mqkit.json_body.encoder import encode_json

    _encode_json = encode_json
    return encode_json


def _checked(headers: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(headers, Mapping):
        raise ConfigurationError(f"headers={headers!r}: expected a mapping of names to values")
    for name, value in headers.items():
        if not _is_finite(value):
            # RabbitMQ 3.10 can't read such a float, and closes the whole connection for it (541).
            raise ConfigurationError(f"the header {name!r} holds a float that is not finite")
    return dict(headers)


def _is_finite(value: object) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case Mapping():
            return all(map(_is_finite, value.values()))
        case list() | tuple():
            return all(map(_is_finite, value))
    return True
