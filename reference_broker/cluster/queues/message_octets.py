"""A message's content on a link: route, header and body, as they are in memory.

The sizes stand in what goes before. The sender copies nothing; the receiver copies each of the
three once, out of what was read (a body larger than a frame is copied when its frames come), and
checks them as if a client had sent them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from reference_broker.cluster.link.frame import Buffer
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import HEADER_FIXED_SIZE
from reference_broker.errors import LinkError

_FIXED = struct.Struct(">HHQ")
_BASIC = 60

RUN_BYTES = 128 * 1024
"""Octets of a run: they are copied together."""

RUN_MAX = 1_024
"""Messages of a run, at most."""


def octets_of(content: Content) -> tuple[Buffer, Buffer, Buffer]:
    """The buffers to send."""
    body = content.body
    return content.route, content.header, body if isinstance(body, bytes) else memoryview(body)


def runs_of(contents: Sequence[Content]) -> Iterator[tuple[int, Sequence[Content]]]:
    """Messages of one route in runs of some :data:`RUN_BYTES`, each with the place of its first
    one: a large body has a run for itself."""
    sizes = [len(content.header) + len(content.body) for content in contents]
    start = size = 0
    if len(sizes) > RUN_MAX or sum(sizes) > RUN_BYTES:
        for place, octets in enumerate(sizes):
            if place > start and (size + octets > RUN_BYTES or place - start == RUN_MAX):
                yield start, contents[start:place]
                start, size = place, 0
            size += octets
    yield start, contents[start:] if start else contents


def octets_of_run(contents: Sequence[Content]) -> tuple[bytes, bytes]:
    """Messages of one route: the sizes of all headers and of all bodies, and then the route, the
    headers and the bodies."""
    headers = [content.header for content in contents]
    bodies = [content.body for content in contents]
    sizes = struct.pack(f">{2 * len(contents)}I", *map(len, headers), *map(len, bodies))
    return sizes, b"".join((contents[0].route, *headers, *bodies))


def read_run(reader: OctetReader, count: int, route_size: int) -> list[Content]:
    """The run of so many messages that comes next, sizes first. Raises :exc:`LinkError`."""
    if not 0 < count <= RUN_MAX:
        raise LinkError(f"a run of {count} messages")
    sizes = struct.unpack(f">{2 * count}I", reader.take(8 * count))
    route = reader.take(route_size)
    if not _is_route(route):
        raise LinkError("messages whose exchange name and routing key can't be read")
    octets = reader.take(sum(sizes))
    contents: list[Content] = []
    at, body_at = 0, sum(sizes[:count])
    header, of_size = b"", -1
    for header_size, body_size in zip(sizes[:count], sizes[count:], strict=True):
        header_at, at = at, at + header_size
        found = octets[header_at:at]
        if found != header or body_size != of_size:
            _require_header_of(found, body_size)
            header, of_size = found, body_size
        stop = body_at + body_size
        contents.append(Content(route, header, octets[body_at:stop]))
        body_at = stop
    return contents


def read_content(reader: OctetReader, route_size: int, header_size: int, body_size: int) -> Content:
    """The message that comes next. Raises :exc:`LinkError` for what can be none. The properties
    are not looked at (:func:`~reference_broker.core.message.header.facts_of` is who does)."""
    route = reader.take(route_size)
    header = reader.take(header_size)
    body = reader.take_body(body_size)
    if not _is_route(route):
        raise LinkError("a message whose exchange name and routing key can't be read")
    _require_header_of(header, body_size)
    return Content(route, header, body)


def _require_header_of(header: bytes, body_size: int) -> None:
    if len(header) < HEADER_FIXED_SIZE or _FIXED.unpack_from(header) != (_BASIC, 0, body_size):
        raise LinkError("a message whose header is not that of its body")


def _is_route(route: bytes) -> bool:
    """True for two shortstrs, and nothing else."""
    if len(route) < 2:
        return False
    key_at = 1 + route[0]
    return key_at < len(route) and key_at + 1 + route[key_at] == len(route)
