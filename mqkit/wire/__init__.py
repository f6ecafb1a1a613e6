"""The AMQP 0-9-1 codec that client and broker share: bytes in, values out, no I/O.

Out: :func:`method_frame`, :func:`content_frames`. In: :class:`FrameParser` cuts bytes into frames,
:class:`ContentAssembler` joins one channel's frames into commands. Decoding raises nothing but
:exc:`WireError`, whatever the bytes; encoding raises nothing but :exc:`EncodeError`.
"""

from __future__ import annotations

from mqkit.wire import methods
from mqkit.wire.content import MAX_BODY_SIZE, Command, ContentAssembler
from mqkit.wire.errors import EncodeError, MalformedText, WireError
from mqkit.wire.field_table import decode_sized_table, decode_table
from mqkit.wire.field_table_encoder import encode_table, table_type_name
from mqkit.wire.field_type import MAX_TABLE_DEPTH, MAX_TABLE_ITEMS, SizedInt, Typed
from mqkit.wire.frame import (
    FRAME_HEADER,
    HEARTBEAT_FRAME,
    Frame,
    body_frames,
    content_frames,
    encode_frame,
    header_frame,
    heartbeat_frame,
    method_frame,
)
from mqkit.wire.frame_parser import FrameParser
from mqkit.wire.method_codec import decode_method, encode_method, method_name
from mqkit.wire.properties import (
    PERSISTENT,
    Properties,
    decode_header,
    decode_values,
    encode_header,
)
from mqkit.wire.spec import (
    FRAME_END,
    FRAME_HEADER_SIZE,
    FRAME_MIN_SIZE,
    FRAME_OVERHEAD,
    PROTOCOL_HEADER,
    ClassId,
    FrameType,
    ReplyCode,
)
from mqkit.wire.strings import (
    LENIENT,
    decode_longstr,
    decode_shortstr,
    encode_longstr,
    encode_shortstr,
)

__all__ = [
    "FRAME_END",
    "FRAME_HEADER",
    "FRAME_HEADER_SIZE",
    "FRAME_MIN_SIZE",
    "FRAME_OVERHEAD",
    "HEARTBEAT_FRAME",
    "LENIENT",
    "MAX_BODY_SIZE",
    "MAX_TABLE_DEPTH",
    "MAX_TABLE_ITEMS",
    "PERSISTENT",
    "PROTOCOL_HEADER",
    "ClassId",
    "Command",
    "ContentAssembler",
    "EncodeError",
    "Frame",
    "FrameParser",
    "FrameType",
    "MalformedText",
    "Properties",
    "ReplyCode",
    "SizedInt",
    "Typed",
    "WireError",
    "body_frames",
    "content_frames",
    "decode_header",
    "decode_longstr",
    "decode_method",
    "decode_shortstr",
    "decode_sized_table",
    "decode_table",
    "decode_values",
    "encode_frame",
    "encode_header",
    "encode_longstr",
    "encode_method",
    "encode_shortstr",
    "encode_table",
    "header_frame",
    "heartbeat_frame",
    "method_frame",
    "method_name",
    "methods",
    "table_type_name",
]
