"""A content header as bytes: the few facts that a broker acts on, and its parts for rewriting.

The law: a header is never decoded into an object on the way through, and what nobody changes stays
byte for byte. The payload of a header frame (AMQP 0-9-1, section 4.2.6.1)::

    0        2        4             12      14
    | class  | weight | body size   | flags | properties ...
    | u16    | u16    | u64         | u16   | present ones only, in order of their flag bits

    0x8000 content-type      shortstr      0x0080 message-id  shortstr
    0x4000 content-encoding  shortstr      0x0040 timestamp   u64
    0x2000 headers           table         0x0020 type        shortstr
    0x1000 delivery-mode     octet         0x0010 user-id     shortstr
    0x0800 priority          octet         0x0008 app-id      shortstr
    0x0400 correlation-id    shortstr      0x0004 cluster-id  shortstr
    0x0200 reply-to          shortstr
    0x0100 expiration        shortstr
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from mqkit.wire import WireError, decode_table
from reference_broker.core.arguments.queue_arguments import MAX_EXPIRY_MS
from reference_broker.core.message.header_table import check_table
from reference_broker.errors import ChannelException, ConnectionException, ReplyCode

FLAGS = 12
PROPERTIES = 14
"""Offsets of the property flags and of the first property."""

HEADER_FIXED_SIZE = PROPERTIES
"""Octets of class id, weight, body size and property flags: the least that a content header has."""

HEADERS = 0x2000
DELIVERY_MODE = 0x1000
PRIORITY = 0x0800
CORRELATION_ID = 0x0400
REPLY_TO = 0x0200
EXPIRATION = 0x0100
MESSAGE_ID = 0x0080
TIMESTAMP = 0x0040
USER_ID = 0x0010

# Every property, in the order in which they follow the flags, with the width of its value:
# 0 for a shortstr, -1 for a table.
_WIDTHS = (
    (0x8000, 0), (0x4000, 0), (HEADERS, -1), (DELIVERY_MODE, 1), (PRIORITY, 1), (0x0400, 0),
    (REPLY_TO, 0), (EXPIRATION, 0), (0x0080, 0), (0x0040, 8), (0x0020, 0), (USER_ID, 0),
    (0x0008, 0), (0x0004, 0),
)  # fmt: skip

PERSISTENT = 2
"""The delivery mode of a message that survives a restart; any other does not (RabbitMQ)."""

_MORE_FLAGS = 0x0001
"""By section 4.2.6.1 another 16 flags follow; no class has so many properties, and RabbitMQ can't
read a header that says so."""

_WIDTHS_FROM_CORRELATION_ID = tuple(
    tuple(width for flag, width in _WIDTHS if flag & flags)
    for flags in range(0, 2 * 0x0400, 0x0004)
)
"""For each set of the flags from correlation-id on, shifted right by two: the widths."""

COPIES_MARK = b"CC"
"""In every header that has CC or BCC; a header without it needs no look into its table."""

DIRECT_REPLY_MARK = b"amq.rabbitmq.reply-to"
"""In every header that asks for a direct reply
(:mod:`reference_broker.core.channel.direct_reply`)."""

MAX_CACHED_FACTS = 512
MAX_CACHED_HEADER = 128
"""Publishers repeat a handful of short headers. The cache is emptied when it is full, so a peer
that varies its headers costs 64 KiB here, and itself the benefit."""

_SELDOM_REPEATED = 0x0400 | 0x0080 | 0x0040
"""Correlation-id, message-id, timestamp: such a header is likely the only one of its
kind, and is read each time."""


class HeaderFacts(NamedTuple):
    """The properties of a header that a queue, or the channel's checks, need.

    ``expiration_ms`` is validated. ``user_id`` is the property's bytes, to be compared with the
    login. ``has_headers`` says that there is a header table, which a headers exchange may want.
    Where a message is ``plain``, neither of these, nor CC, BCC or reply-to, is anything that its
    publisher's channel has to see to.
    """

    persistent: bool
    priority: int
    expiration_ms: int | None = None
    user_id: bytes | None = None
    has_headers: bool = False
    plain: bool = True


_USUAL = tuple(
    HeaderFacts(persistent, priority, None, None, has_headers, plain)
    for plain in (False, True)
    for persistent in (False, True)
    for has_headers in (False, True)
    for priority in range(256)
)
"""The facts of every header without expiration and user-id, made once."""

_cache: dict[bytes, HeaderFacts] = {}


def facts_of(header: bytes) -> HeaderFacts:
    """The facts of a content header's payload that comes from outside, of 14 bytes at least.

    Raises :exc:`ChannelException` 406 for a bad expiration, with RabbitMQ's text, and
    :exc:`ConnectionException` 502 for what no client could read: properties that are not as long as
    the header, a header table that is none.
    """
    flags = header[FLAGS] << 8 | header[FLAGS + 1]
    if flags & HEADERS:
        return _checked_facts(header)
    if flags & _SELDOM_REPEATED or len(header) > MAX_CACHED_HEADER:
        return read_facts(header)
    key = header[FLAGS:]
    facts = _cache.get(key)
    if facts is None:
        facts = read_facts(header)
        if len(_cache) >= MAX_CACHED_FACTS:
            _cache.clear()
        _cache[key] = facts
    return facts


def _checked_facts(header: bytes) -> HeaderFacts:
    """Of a header with a table in it."""
    facts = read_facts(header)
    start = PROPERTIES
    if header[FLAGS] & 0x80:
        start += 1 + header[start]
    if header[FLAGS] & 0x40:
        start += 1 + header[start]
    check_table(header, start)
    return facts


def read_facts(header: bytes) -> HeaderFacts:
    """:func:`facts_of` a header that the broker has taken before; raises the same."""
    try:
        flags = header[FLAGS] << 8 | header[FLAGS + 1]
        offset = PROPERTIES
        if flags & 0x8000:
            offset += 1 + header[offset]
        if flags & 0x4000:
            offset += 1 + header[offset]
        if flags & HEADERS:
            offset += 4 + int.from_bytes(header[offset : offset + 4], "big")
        persistent = False
        if flags & DELIVERY_MODE:
            persistent = header[offset] == PERSISTENT
            offset += 1
        priority = 0
        if flags & PRIORITY:
            priority = header[offset]
            offset += 1
        for width in _WIDTHS_FROM_CORRELATION_ID[flags >> 2 & 0x1FF]:
            offset += width or 1 + header[offset]
    except IndexError:
        raise _cut_short() from None
    if offset != len(header) or flags & _MORE_FLAGS:
        raise _misfit(header, offset)
    plain = not (
        (flags & HEADERS and COPIES_MARK in header)
        or (flags & REPLY_TO and DIRECT_REPLY_MARK in header)
    )
    if not flags & (EXPIRATION | USER_ID):
        return _USUAL[plain << 10 | persistent << 9 | bool(flags & HEADERS) << 8 | priority]
    properties = split_properties(header)
    expiration = properties.get(EXPIRATION)
    user_id = properties.get(USER_ID)
    return HeaderFacts(
        persistent,
        priority,
        None if expiration is None else _expiration_ms(expiration[1:]),
        None if user_id is None else user_id[1:],
        HEADERS in properties,
        plain and user_id is None,
    )


def shape_of(header: bytes) -> bytes:
    """The part of a plain ``header`` that decides: another of the same length that begins so has
    the same facts. It is all of it where no part is free, or it is not known to be.

    With one shortstr behind priority at most, what follows that one's length is free: a message-id,
    say, and a timestamp.
    """
    flags = header[FLAGS] << 8 | header[FLAGS + 1]
    if flags & (HEADERS | REPLY_TO | EXPIRATION | USER_ID):
        return header
    widths = _WIDTHS_FROM_CORRELATION_ID[flags >> 2 & 0x1FF]
    if widths.count(0) > 1:
        return header
    offset = PROPERTIES
    if flags & 0x8000:
        offset += 1 + header[offset]
    if flags & 0x4000:
        offset += 1 + header[offset]
    offset += bool(flags & DELIVERY_MODE) + bool(flags & PRIORITY)
    if 0 in widths:
        offset += sum(widths[: widths.index(0)]) + 1
    return header[:offset]


def user_id_of(header: bytes) -> bytes | None:
    """The user-id property alone. Raises :exc:`ConnectionException` 502 where it can't be read."""
    user_id = split_properties(header).get(USER_ID)
    return None if user_id is None else user_id[1:]


def headers_of(header: bytes) -> dict[str, Any]:
    """The header table, decoded; empty when there is none.

    Raises :exc:`ConnectionException` 502 for a table that can't be read.
    """
    table = split_properties(header).get(HEADERS)
    if table is None:
        return {}
    try:
        return decode_table(table)[0]
    except WireError as error:
        raise ConnectionException(ReplyCode.SYNTAX_ERROR, error.text) from error


def split_properties(header: bytes) -> dict[int, bytes]:
    """The properties that are there, as they are on the wire, by flag and in order.

    Raises :exc:`ConnectionException` 502 when they end before they should.
    """
    flags = int.from_bytes(header[FLAGS:PROPERTIES], "big")
    properties = {}
    start = PROPERTIES
    for flag, width in _WIDTHS:
        if not flags & flag:
            continue
        if width > 0:
            end = start + width
        elif width == 0:
            end = start + 1 + int.from_bytes(header[start : start + 1], "big")
        else:
            end = start + 4 + int.from_bytes(header[start : start + 4], "big")
        properties[flag] = header[start:end]
        start = end
    if start > len(header):
        raise _cut_short()
    return properties


def join_properties(header: bytes, properties: dict[int, bytes]) -> bytes:
    """``header`` with these properties in place of its own; the other way of splitting."""
    flags = 0
    parts = []
    for flag, _ in _WIDTHS:
        if flag in properties:
            flags |= flag
            parts.append(properties[flag])
    return header[:FLAGS] + flags.to_bytes(2, "big") + b"".join(parts)


def _cut_short() -> ConnectionException:
    return ConnectionException(
        ReplyCode.SYNTAX_ERROR, "content header: a property is cut short", 60
    )


def _misfit(header: bytes, end: int) -> ConnectionException:
    """The properties end at ``end``, or more flags were announced."""
    if end > len(header):
        return _cut_short()
    text = f"{len(header) - end} octets too many" if end < len(header) else "too many flags"
    return ConnectionException(ReplyCode.SYNTAX_ERROR, f"content header: {text}", 60)


def _expiration_ms(text: bytes) -> int:
    """As Erlang's string:to_integer reads it, with RabbitMQ's complaints (rabbit_basic)."""
    number = re.match(rb"[+-]?[0-9]+", text)
    if number is None:
        raise _bad_expiration(text, "no_integer")
    if number.end() < len(text):
        rest = text[number.end() :].decode("latin-1").replace("\\", "\\\\").replace('"', '\\"')
        raise _bad_expiration(text, f'{{leftover_string,"{rest}"}}')
    value = int(text)
    if value < 0:
        raise _bad_expiration(text, f"{{value_negative,{value}}}")
    if value > MAX_EXPIRY_MS:
        raise _bad_expiration(text, f"{{value_too_large,{value}}}")
    return value


def _bad_expiration(text: bytes, why: str) -> ChannelException:
    shown = text.decode(errors="replace")
    return ChannelException(ReplyCode.PRECONDITION_FAILED, f"invalid expiration '{shown}': {why}")
