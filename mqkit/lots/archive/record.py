"""One message of a lot as JSON, and back, without losing an octet. Pure.

    {"exchange": "", "routing_key": "email.parked",
     "properties": {"delivery_mode": 2, "message_id": "m1", "timestamp": 1700000000},
     "headers": {"attempt": 3, "size": {"$amqp": "long", "value": 5}},
     "body": "{\"to\": \"a@example.org\"}"}

``body`` is text; ``body_base64`` stands in its place where it is not UTF-8. ``properties_base64``
is there where properties and headers would not give the same octets again (two headers of one name,
properties that can't be read): the property list as it was, and it is that which is restored.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mqkit.lots.archive.header_json import table_from_json, table_to_json
from mqkit.message import Delivery
from mqkit.transport.native.exact import (
    ExactProperties,
    exactly,
    from_octets,
    octets_of,
    wire_properties,
)
from mqkit.wire import EncodeError, WireError
from mqkit.wire import Properties as WireProperties
from mqkit.wire.field_table_encoder import encode_timestamp

PROPERTY_NAMES = (
    *("content_type", "content_encoding", "delivery_mode", "priority", "correlation_id"),
    *("reply_to", "expiration", "message_id", "timestamp", "type", "user_id", "app_id"),
    "cluster_id",
)
_NUMBERS = frozenset({"delivery_mode", "priority", "timestamp"})


@dataclass(frozen=True, slots=True)
class Record:
    """A message as it lay in its lot."""

    exchange: str
    routing_key: str
    body: bytes
    properties: ExactProperties

    @classmethod
    def of(cls, delivery: Delivery) -> Record:
        """``delivery`` with its exact properties, if it came over a connection that has them; with
        the types that the client would send, if not."""
        properties = delivery.properties
        if not isinstance(properties, ExactProperties):
            properties = exactly(properties)
        return cls(delivery.exchange, delivery.routing_key, delivery.body, properties)

    @property
    def octets(self) -> int:
        """The octets that it holds in memory, nearly."""
        return len(self.body) + len(self.properties.octets)


def to_json(record: Record, *, with_body: bool = True) -> bytes:
    """One line of JSON, in UTF-8, without its end."""
    shown: dict[str, Any] = {"exchange": record.exchange, "routing_key": record.routing_key}
    shown |= _properties_to_json(record.properties.octets)
    if with_body:
        try:
            shown["body"] = record.body.decode()
        except UnicodeDecodeError:
            shown["body_base64"] = _base64(record.body)
    try:
        return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a name that is not UTF-8 has lone surrogates
        return json.dumps(shown, separators=(",", ":")).encode()


def from_json(line: bytes, body: bytes | None = None) -> Record:
    """The message again; ``body`` is given where the line has none. Raises ``ValueError``."""
    shown = as_object(line)
    exchange, key = shown.get("exchange"), shown.get("routing_key")
    if not isinstance(exchange, str) or not isinstance(key, str):
        raise ValueError("no exchange, or no routing key")
    return Record(exchange, key, _body(shown) if body is None else body, _properties(shown))


def as_object(line: bytes) -> dict[str, Any]:
    """A line of an archive. Raises ``ValueError`` if it is no JSON object."""
    try:
        shown = json.loads(line.decode())
    except RecursionError:
        raise ValueError("JSON nested too deep") from None
    if not isinstance(shown, dict):
        raise ValueError("no JSON object")
    return shown


def _properties_to_json(octets: bytes) -> dict[str, Any]:
    try:
        wire = wire_properties(octets)
        readable = {
            "properties": {
                name: _property_to_json(value)
                for name in PROPERTY_NAMES
                if (value := getattr(wire, name)) is not None
            }
        }
        if wire.headers is not None:
            readable["headers"] = table_to_json(wire.headers)
        if _from_readable(readable) == octets:
            return readable
    except (WireError, EncodeError, ValueError):
        readable = {"properties": {}}
    return {**readable, "properties_base64": _base64(octets)}


def _property_to_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return int.from_bytes(encode_timestamp(value), "big")
    return value


def _properties(shown: dict[str, Any]) -> ExactProperties:
    if "properties_base64" in shown:
        return from_octets(_octets(shown["properties_base64"]))
    try:
        return from_octets(_from_readable(shown))
    except EncodeError as error:
        raise ValueError(str(error)) from None


def _from_readable(shown: dict[str, Any]) -> bytes:
    properties = shown.get("properties")
    if not isinstance(properties, dict) or not properties.keys() <= set(PROPERTY_NAMES):
        raise ValueError("properties that are none")
    for name, value in properties.items():
        wanted = int if name in _NUMBERS else str
        if isinstance(value, bool) or not isinstance(value, wanted):
            raise ValueError(f"a property {name} that is none")
    wire = WireProperties(**properties)
    if "headers" in shown:
        wire.headers = table_from_json(shown["headers"])
    return octets_of(wire)


def _body(shown: dict[str, Any]) -> bytes:
    if "body_base64" in shown:
        return _octets(shown["body_base64"])
    if isinstance(body := shown.get("body"), str):
        return body.encode()
    raise ValueError("no body")


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode("ascii")


def _octets(text: object) -> bytes:
    try:
        return base64.b64decode(text, validate=True)  # type: ignore[arg-type]
    except (TypeError, binascii.Error):
        raise ValueError("text that is no base64") from None
