"""Publishes and their answers on a link. Numbers are big-endian.

::

    PUBLISH     number u64 | queues u32 | route u16 | header u32 | body u32 | queue ids u64 ...
                | route | header | body
    CONFIRMED   through u64
    REFUSED     number u64

A publish has the next number after the last one of its link.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
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
from reference_broker.errors import LinkError

UNANSWERED_MAX = 64 * 1024
"""Publishes that may be sent and not answered when a message with more of them is sent. (Their
refusals have to fit the replies that may wait in a link.)"""

REFUSED_AT_ONCE = 16 * 1024
"""Refusals in one reply, which has to fit a frame."""

_HEAD = struct.Struct(">QIHII")
_HEAD_OF_ONE = struct.Struct(">QIHIIQ")
_RUN = struct.Struct(">QQIH")
_NUMBER = struct.Struct(">Q")


class Publish(NamedTuple):
    """A message for queues of the home; for none, where it is an answer to a reply consumer."""

    number: int
    queue_ids: Sequence[int]
    content: Content


def encode_publish(number: int, queue_ids: Sequence[int], content: Content) -> Sequence[Buffer]:
    """The buffers of one publish."""
    sizes = len(content.route), len(content.header), len(content.body)
    if len(queue_ids) == 1:
        head = _HEAD_OF_ONE.pack(number, 1, *sizes, queue_ids[0])
    else:
        head = _HEAD.pack(number, len(queue_ids), *sizes)
        head += struct.pack(f">{len(queue_ids)}Q", *queue_ids)
    return head, *octets_of(content)


def read_publish(reader: OctetReader) -> Publish:
    """The publish that comes next. Raises :exc:`LinkError` for what is none."""
    number, queues, route_size, header_size, body_size = reader.unpack(_HEAD)
    queue_ids = struct.unpack(f">{queues}Q", reader.take(8 * queues))
    return Publish(number, queue_ids, read_content(reader, route_size, header_size, body_size))


class Run(NamedTuple):
    """Messages for one queue of the home, numbered from ``first`` on."""

    first: int
    queue_id: int
    contents: list[Content]


def encode_run(first: int, queue_id: int, contents: Sequence[Content]) -> Sequence[Buffer]:
    """The buffers of one run."""
    head = _RUN.pack(first, queue_id, len(contents), len(contents[0].route))
    return head, *octets_of_run(contents)


def read_publish_run(reader: OctetReader) -> Run:
    """The run that comes next. Raises :exc:`LinkError` for what is none."""
    first, queue_id, count, route_size = reader.unpack(_RUN)
    return Run(first, queue_id, read_run(reader, count, route_size))


def encode_numbers(numbers: Sequence[int]) -> bytes:
    """The payload of a CONFIRMED, with one number, or of a REFUSED."""
    return struct.pack(f">{len(numbers)}Q", *numbers)


def read_numbers(payload: memoryview) -> Iterable[int]:
    """The numbers of a CONFIRMED or a REFUSED. Raises :exc:`LinkError` for what has none."""
    if not payload or len(payload) % _NUMBER.size:
        raise LinkError("an answer to publishes that can't be read")
    return struct.unpack(f">{len(payload) // _NUMBER.size}Q", payload)
