"""The answers of a home beside confirms, on a link. Numbers are big-endian.

::

    ATTACHED, DETACHED, GONE    attachment u64
    NOT_ATTACHED, UNANSWERED    attachment or token u64 | reply code u16 (404: the queue is deleted)
                                | text u16 | text
    DELIVERY                    attachment u64 | lease number u64 | redelivered u8
                                | route u16 | header u32 | body u32 | route | header | body
    GOT                         token u64 | lease number u64 | redelivered u8 | left u64
                                | route u16 | header u32 | body u32 | route | header | body
    GOT_NOTHING                 token u64
    COUNTED                     token u64 | ready, unacked, consumers, declared consumers u64
    PURGED                      token u64 | count u64
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from reference_broker.cluster.link.frame import Buffer
from reference_broker.cluster.queues.message_octets import (
    octets_of,
    octets_of_run,
    read_content,
    read_run,
)
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.message.content import Content
from reference_broker.core.remote.ports import Counts, Got, Purged, QueueGone
from reference_broker.errors import ChannelException, LinkError, ReplyCode

_NUMBER = struct.Struct(">Q")
_ERROR = struct.Struct(">QHH")
_DELIVERY = struct.Struct(">QQ?HII")
_DELIVERY_RUN = struct.Struct(">QQIH")
_GOT = struct.Struct(">QQ?QHII")
_COUNTED = struct.Struct(">QQQQQ")
_PURGED = struct.Struct(">QQ")

_TEXT_OCTETS_MAX = 4_096
"""Octets of an error's text; a client is told 255 of them."""


class Delivery(NamedTuple):
    """A message for a consumer."""

    attachment: int
    number: int
    redelivered: bool
    content: Content


def encode_number(number: int) -> bytes:
    """The item of an answer that is its number alone."""
    return _NUMBER.pack(number)


def read_number(reader: OctetReader) -> int:
    """Raises :exc:`LinkError`, as all of these do."""
    number: int = reader.unpack(_NUMBER)[0]
    return number


def encode_error(number: int, error: ChannelException) -> bytes:
    text = error.text.encode(errors="surrogateescape")[:_TEXT_OCTETS_MAX]
    return _ERROR.pack(number, error.code, len(text)) + text


def read_error(reader: OctetReader) -> tuple[int, ChannelException]:
    number, code, size = reader.unpack(_ERROR)
    text = reader.take(size).decode(errors="surrogateescape")
    if code == ReplyCode.NOT_FOUND:
        return number, QueueGone(text)
    try:
        return number, ChannelException(ReplyCode(code), text)
    except ValueError as error:
        raise LinkError(f"an error with reply code {code}, which there is not") from error


def encode_delivery(
    attachment: int, number: int, redelivered: bool, content: Content
) -> Sequence[Buffer]:
    sizes = len(content.route), len(content.header), len(content.body)
    head = _DELIVERY.pack(attachment, number, redelivered, *sizes)
    return head, *octets_of(content)


def read_delivery(reader: OctetReader) -> Delivery:
    attachment, number, redelivered, *sizes = reader.unpack(_DELIVERY)
    return Delivery(attachment, number, redelivered, read_content(reader, *sizes))


def encode_delivery_run(
    attachment: int, first: int, contents: Sequence[Content]
) -> Sequence[Buffer]:
    head = _DELIVERY_RUN.pack(attachment, first, len(contents), len(contents[0].route))
    return head, *octets_of_run(contents)


def read_delivery_run(reader: OctetReader) -> tuple[int, int, list[Content]]:
    attachment, first, count, route_size = reader.unpack(_DELIVERY_RUN)
    return attachment, first, read_run(reader, count, route_size)


def encode_got(token: int, got: Got) -> Sequence[Buffer]:
    """The item of a GOT, which has a message."""
    number, redelivered, content, left = got
    assert content is not None, "an empty queue is answered with GOT_NOTHING"
    sizes = len(content.route), len(content.header), len(content.body)
    return _GOT.pack(token, number, redelivered, left, *sizes), *octets_of(content)


def read_got(reader: OctetReader) -> tuple[int, Got]:
    token, number, redelivered, left, *sizes = reader.unpack(_GOT)
    return token, Got(number, redelivered, read_content(reader, *sizes), left)


def encode_counted(token: int, counts: Counts) -> bytes:
    return _COUNTED.pack(token, *counts)


def read_counted(reader: OctetReader) -> tuple[int, Counts]:
    token, *counts = reader.unpack(_COUNTED)
    return token, Counts(*counts)


def encode_purged(token: int, purged: Purged) -> bytes:
    return _PURGED.pack(token, purged.messages)


def read_purged(reader: OctetReader) -> tuple[int, Purged]:
    token, count = reader.unpack(_PURGED)
    return token, Purged(count)
