"""Methods to bytes and back.

0          2           4
+----------+-----------+- - - - - - -+
| class id | method id | arguments   |       the payload of a method frame
+----------+-----------+- - - - - - -+
   short       short
"""

from __future__ import annotations

import struct
from typing import Any

from mqkit.wire.errors import EncodeError, MalformedText, WireError
from mqkit.wire.method_layout import steps_of
from mqkit.wire.methods import ALL_METHODS, Method
from mqkit.wire.spec import MAX_SHORTSTR_SIZE, ReplyCode

_IDS = struct.Struct(">HH")


class _MethodCodec:
    """Writes and reads one method."""

    __slots__ = ("_ids", "_method_class", "_steps")

    def __init__(self, method_class: type[Method]) -> None:
        self._method_class = method_class
        self._ids = _IDS.pack(method_class.CLASS_ID, method_class.METHOD_ID)
        self._steps = steps_of(method_class)

    def encode(self, method: Method) -> bytes:
        return self._ids + b"".join([step.encode(method) for step in self._steps])

    def decode(self, payload: bytes | memoryview) -> Method:
        values: list[Any] = []
        offset = _IDS.size
        for step in self._steps:
            offset = step.decode(payload, offset, values)
        if offset != len(payload):
            raise WireError(ReplyCode.FRAME_ERROR, "octets are left over")
        return self._method_class(*values)


_CODECS = {(method.CLASS_ID, method.METHOD_ID): _MethodCodec(method) for method in ALL_METHODS}
_CODECS_BY_CLASS = {method: _CODECS[method.CLASS_ID, method.METHOD_ID] for method in ALL_METHODS}
_NAMES = {(method.CLASS_ID, method.METHOD_ID): method.NAME for method in ALL_METHODS}


def encode_method(method: Method) -> bytes:
    """The payload of a method frame.

    Raises :exc:`EncodeError` when an argument does not fit (a number out of range, a short string
    above 255 bytes, a table value of a type that AMQP does not have).
    """
    try:
        return _CODECS_BY_CLASS[type(method)].encode(method)
    except (struct.error, EncodeError) as error:
        raise EncodeError(f"{method.NAME}: {error}") from error


def decode_method(payload: bytes | memoryview) -> Method:
    """The method in a method frame's payload.

    Raises :exc:`WireError`, which names class and method: 501 for arguments that are cut short or
    too long, in RabbitMQ's words, 502 for a table that can't be read (RabbitMQ just drops the
    connection then), 503 for a method that does not exist (the same). :exc:`MalformedText` for a
    name that is not UTF-8 names neither.
    """
    if len(payload) < _IDS.size:
        raise WireError(ReplyCode.FRAME_ERROR, "method frame is too short for a method")
    ids = _IDS.unpack_from(payload)
    codec = _CODECS.get(ids)
    if codec is None:
        raise WireError(ReplyCode.COMMAND_INVALID, f"unknown method {ids[0]}.{ids[1]}", *ids)
    try:
        return codec.decode(payload)
    except MalformedText:
        raise
    except struct.error as error:
        raise WireError(ReplyCode.FRAME_ERROR, _cannot_decode(payload), *ids) from error
    except WireError as error:
        own = error.reply_code is not ReplyCode.FRAME_ERROR
        text = error.text if own else _cannot_decode(payload)
        raise WireError(error.reply_code, text, *ids) from error


def _cannot_decode(payload: bytes | memoryview) -> str:
    """The arguments as Erlang prints a binary; no reply text has room for more of them."""
    arguments = bytes(payload[_IDS.size : _IDS.size + MAX_SHORTSTR_SIZE])
    return f"cannot decode <<{','.join(map(str, arguments))}>>"


def method_name(class_id: int, method_id: int) -> str:
    """``queue.declare`` for 50 and 10; for ids that no method has, the ids: ``50.99``."""
    return _NAMES.get((class_id, method_id), f"{class_id}.{method_id}")
