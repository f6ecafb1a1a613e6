"""The commands of an origin beside publishes, on a link. Numbers are big-endian.

::

    ATTACH    attachment u64 | queue id u64 | flags u8 | tag u8 | arguments u32 | tag | arguments
    DETACH    attachment u64 | after u64
    GRANT     attachment u64 | messages u64 | octets u64
    SETTLE    queue id u64 | how u8 | leases u32 | lease number u64 ...
    GET       token u64 | after u64 | queue id u64 | no_ack u8
    COUNT     token u64 | after u64 | queue id u64 | 0 u8
    PURGE     token u64 | after u64 | queue id u64 | 0 u8
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.base.limits import MIB
from reference_broker.core.remote.ports import Settlement, Terms
from reference_broker.errors import LinkError

SETTLED_MAX = MIB
"""Leases of one SETTLE: far more than a channel may hold."""

OPEN_MAX = 4_096
"""Questions that may be open at once. Those of more channels wait at the origin."""

_NO_ACK = 1
_EXCLUSIVE = 2
_ATTACH = struct.Struct(">QQBBI")
_DETACH = struct.Struct(">QQ")
_GRANT = struct.Struct(">QQQ")
_SETTLE = struct.Struct(">QBI")
_QUESTION = struct.Struct(">QQQ?")


class Detach(NamedTuple):
    """A consumer is to leave its queue, once the publish ``after`` was taken."""

    attachment: int
    after: int


class Attach(NamedTuple):
    """A consumer that is to take part in a queue."""

    attachment: int
    queue_id: int
    terms: Terms


class Grant(NamedTuple):
    """Messages and octets that a consumer may have had in all."""

    attachment: int
    messages: int
    octets: int


class Settle(NamedTuple):
    """Leases that end, in this order."""

    queue_id: int
    how: Settlement
    numbers: Sequence[int]


class Question(NamedTuple):
    """A question about a queue, to be answered once publish ``after`` of the link was taken."""

    token: int
    after: int
    queue_id: int
    no_ack: bool = False


def encode_attach(attachment: int, queue_id: int, terms: Terms) -> bytes:
    flags = _NO_ACK * terms.no_ack | _EXCLUSIVE * terms.exclusive
    tag = terms.tag.encode(errors="surrogateescape")
    arguments = terms.arguments
    head = _ATTACH.pack(attachment, queue_id, flags, len(tag), len(arguments))
    return b"".join((head, tag, arguments))


def read_attach(reader: OctetReader) -> Attach:
    """Raises :exc:`LinkError`, as all of these do."""
    attachment, queue_id, flags, tag_size, arguments_size = reader.unpack(_ATTACH)
    if flags & ~(_NO_ACK | _EXCLUSIVE):
        raise LinkError(f"a consumer with flags {flags}")
    tag = reader.take(tag_size).decode(errors="surrogateescape")
    arguments = reader.take(arguments_size)
    terms = Terms(tag, bool(flags & _NO_ACK), bool(flags & _EXCLUSIVE), arguments)
    return Attach(attachment, queue_id, terms)


def encode_detach(detach: Detach) -> bytes:
    return _DETACH.pack(*detach)


def read_detach(reader: OctetReader) -> Detach:
    return Detach(*reader.unpack(_DETACH))


def encode_grant(attachment: int, messages: int, octets: int) -> bytes:
    return _GRANT.pack(attachment, messages, octets)


def read_grant(reader: OctetReader) -> Grant:
    return Grant(*reader.unpack(_GRANT))


def encode_settle(queue_id: int, how: Settlement, numbers: Sequence[int]) -> bytes:
    head = _SETTLE.pack(queue_id, how, len(numbers))
    return head + struct.pack(f">{len(numbers)}Q", *numbers)


def read_settle(reader: OctetReader) -> Settle:
    queue_id, how, count = reader.unpack(_SETTLE)
    if how >= len(Settlement) or not 0 < count <= SETTLED_MAX:
        raise LinkError(f"{count} leases to be settled in way {how}")
    numbers = struct.unpack(f">{count}Q", reader.take(8 * count))
    return Settle(queue_id, Settlement(how), numbers)


def encode_question(question: Question) -> bytes:
    return _QUESTION.pack(*question)


def read_question(reader: OctetReader) -> Question:
    return Question(*reader.unpack(_QUESTION))
