"""A message's content on a link: route, header and body, as they are in memory.

The sizes stand in what goes before. The sender copies nothing; the receiver copies each of the
three once, out of what was read, and checks them as if a client had sent them.
"""

from __future__ import annotations

import struct

from reference_broker.cluster.link.frame import Buffer
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import HEADER_FIXED_SIZE
from reference_broker.errors import LinkError

_FIXED = struct.Struct(">HHQ")
_BASIC = 60


def octets_of(content: Content) -> tuple[Buffer, Buffer, Buffer]:
    """The buffers to send."""
    body = content.body
    return content.route, content.header, body if isinstance(body, bytes) else memoryview(body)


def read_content(reader: OctetReader, route_size: int, header_size: int, body_size: int) -> Content:
    """The message that comes next. Raises :exc:`LinkError` for what can be none. The properties
    are not looked at (:func:`~reference_broker.core.message.header.facts_of` is who does)."""
    route = reader.take(route_size)
    header = reader.take(header_size)
    body = reader.take(body_size)
    if not _is_route(route):
        raise LinkError("a message whose exchange name and routing key can't be read")
    if header_size < HEADER_FIXED_SIZE or _FIXED.unpack_from(header) != (_BASIC, 0, body_size):
        raise LinkError("a message whose header is not that of its body")
    return Content(route, header, body)


def _is_route(route: bytes) -> bool:
    """True for two shortstrs, and nothing else."""
    if len(route) < 2:
        return False
    key_at = 1 + route[0]
    return key_at < len(route) and key_at + 1 + route[key_at] == len(route)
