"""Properties that go out as they came in, to the octet.

``mqkit.message.Properties`` can't tell a delivery mode that was not sent from one that was 1, has
no field for ``cluster-id``, and of two headers of one name only the first. Who keeps other people's
messages for later needs all of it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from mqkit.drafts import draft_of
from mqkit.message import Properties
from mqkit.wire import Properties as WireProperties
from mqkit.wire import WireError, decode_header, decode_values, encode_header
from mqkit.wire.properties import HEADER_PREFIX, PERSISTENT, place_of
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
    {
        "__slots__": ExactProperties.__slots__,
        "__init__": object.__init__,
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,  # or an assignment looks for both, at a price
    },
)
"""See :mod:`mqkit.drafts`."""

_PlainDraft = draft_of(Properties)

_PropertiesT = TypeVar("_PropertiesT", bound=Properties)


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
    return exact_properties(_CONTENT_START + octets)


def message_id_place(octets: bytes) -> slice | None:
    """The place of the message id in octets that :func:`from_octets` can read: its length, and the
    text itself. ``None`` where there is none."""
    place = place_of(_CONTENT_START + octets, "message_id")
    if place is None:
        return None
    return slice(place.start - len(_CONTENT_START), place.stop - len(_CONTENT_START))


def exact_properties(payload: bytes) -> ExactProperties:
    """As :func:`from_octets`, of the whole payload of a header frame."""
    octets = payload[len(_CONTENT_START) :]
    try:
        _, values = decode_values(payload, exact=True)
    except WireError as error:
        _LOG.warning("a message's properties can't be read, and are kept as octets: %s", error)
        return ExactProperties(octets=octets, persistent=False)
    draft = _ExactDraft()
    draft.octets = octets
    return _filled(draft, values, ExactProperties)


def plain_properties(payload: bytes) -> Properties:
    """The properties in the payload of a header frame, as the client has them. A TTL that is no
    number, and a time after the year 9999, were somebody else's mistake, and are left out.

    Raises :exc:`~mqkit.wire.WireError` for what can't be read.
    """
    return _filled(_PlainDraft(), decode_values(payload)[1], Properties)


def _filled(draft: Any, values: Sequence[Any], frozen: type[_PropertiesT]) -> _PropertiesT:
    (
        draft.content_type,
        draft.content_encoding,
        headers,
        delivery_mode,
        draft.priority,
        draft.correlation_id,
        draft.reply_to,
        expiration,
        draft.message_id,
        timestamp,
        draft.type,
        draft.user_id,
        draft.app_id,
        _,
    ) = values
    draft.headers = headers or {}
    draft.persistent = delivery_mode == PERSISTENT
    draft.expiration_ms = _ttl(expiration) if expiration else None
    draft.timestamp = timestamp if isinstance(timestamp, datetime) else None
    draft.__class__ = frozen
    return draft  # type: ignore[no-any-return]


def _ttl(expiration: str) -> int | None:
    return int(expiration) if expiration.isdecimal() else None


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
