"""Properties that go out as they came in, to the octet.

``mqkit.message.Properties`` can't tell a delivery mode that was not sent from one that was 1, has
no field for ``cluster-id``, and of two headers of one name only the first. Who keeps other people's
messages for later needs all of it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mqkit.drafts import new_properties
from mqkit.message import Properties
from mqkit.wire import Properties as WireProperties
from mqkit.wire import WireError, decode_header, encode_header
from mqkit.wire.properties import HEADER_PREFIX, PERSISTENT
from mqkit.wire.spec import ClassId

_LOG = logging.getLogger(__name__)

FLAGS_OCTETS = 2
_TRANSIENT = 1
_CONTENT_START = HEADER_PREFIX.pack(int(ClassId.BASIC), 0, 0, 0)[:-FLAGS_OCTETS]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactProperties(Properties):
    """``octets`` are the flags and the property list of a content header; the fields are what could
    be read of them, headers with their tags (``SizedInt``, ``Typed``)."""

    octets: bytes

    def flags_and_list(self) -> tuple[int, bytes]:
        """The flags, and the octets of the properties that they announce."""
        return int.from_bytes(self.octets[:FLAGS_OCTETS], "big"), self.octets[FLAGS_OCTETS:]


_ExactDraft: Any = type(
    "ExactPropertiesDraft",
    (Properties,),
    {"__slots__": ExactProperties.__slots__, "__setattr__": object.__setattr__},
)
"""See :mod:`mqkit.drafts`."""


def wire_properties(octets: bytes) -> WireProperties:
    """The properties in such octets, headers with their tags. Raises
    :exc:`~mqkit.wire.WireError` for what can't be read."""
    return decode_header(_CONTENT_START + octets, exact=True)[1]


def octets_of(properties: WireProperties) -> bytes:
    """The octets of such properties. Raises :exc:`~mqkit.wire.EncodeError`."""
    return encode_header(0, properties)[len(_CONTENT_START) :]


def exactly(properties: Properties, **values: Any) -> ExactProperties:
    """``properties`` with other values (named as on the wire: ``headers``, ``expiration``), and
    all else of them as it was. Raises :exc:`~mqkit.wire.WireError` for octets that can't be read,
    and :exc:`~mqkit.wire.EncodeError` for values that AMQP has not."""
    if not isinstance(properties, ExactProperties):
        wire = _of_plain(properties)
    else:
        wire = wire_properties(properties.octets)
    for name, value in values.items():
        setattr(wire, name, value)
    return from_octets(octets_of(wire))


def from_octets(octets: bytes) -> ExactProperties:
    """Octets with what can be read of them. Of properties that can't be read the octets alone are
    there: a message that nobody can read is still kept, and sent on."""
    try:
        wire = wire_properties(octets)
    except WireError as error:
        _LOG.warning("a message's properties can't be read, and are kept as octets: %s", error)
        return ExactProperties(octets=octets, persistent=False)
    return _exact(octets, wire)


def plain_properties(wire: WireProperties) -> Properties:
    """The wire's properties as the client has them. A TTL that is no number, and a time after the
    year 9999, were somebody else's mistake, and are left out."""
    return new_properties(
        wire.content_type,
        wire.content_encoding,
        wire.headers or {},
        wire.delivery_mode == PERSISTENT,
        wire.priority,
        wire.correlation_id,
        wire.reply_to,
        _ttl(wire.expiration),
        wire.message_id,
        _time(wire.timestamp),
        wire.type,
        wire.user_id,
        wire.app_id,
    )


def _exact(octets: bytes, wire: WireProperties) -> ExactProperties:
    """As :func:`plain_properties`, with the octets."""
    draft = _ExactDraft()
    draft.octets = octets
    draft.content_type = wire.content_type
    draft.content_encoding = wire.content_encoding
    draft.headers = wire.headers or {}
    draft.persistent = wire.delivery_mode == PERSISTENT
    draft.priority = wire.priority
    draft.correlation_id = wire.correlation_id
    draft.reply_to = wire.reply_to
    draft.expiration_ms = _ttl(wire.expiration)
    draft.message_id = wire.message_id
    draft.timestamp = _time(wire.timestamp)
    draft.type = wire.type
    draft.user_id = wire.user_id
    draft.app_id = wire.app_id
    draft.__class__ = ExactProperties
    return draft  # type: ignore[no-any-return]


def _ttl(expiration: str | None) -> int | None:
    return int(expiration) if expiration and expiration.isdecimal() else None


def _time(timestamp: object) -> datetime | None:
    return timestamp if isinstance(timestamp, datetime) else None


def _of_plain(properties: Properties) -> WireProperties:
    ttl = properties.expiration_ms
    return WireProperties(
        content_type=properties.content_type,
        content_encoding=properties.content_encoding,
        headers=dict(properties.headers) or None,
        delivery_mode=PERSISTENT if properties.persistent else _TRANSIENT,
        priority=properties.priority,
        correlation_id=properties.correlation_id,
        reply_to=properties.reply_to,
        expiration=None if ttl is None else str(ttl),
        message_id=properties.message_id,
        timestamp=properties.timestamp,
        type=properties.type,
        user_id=properties.user_id,
        app_id=properties.app_id,
    )
