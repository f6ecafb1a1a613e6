"""Compiles a method's dataclass into the steps that write and read its arguments.

Neighbouring arguments of fixed size become one ``struct``; neighbouring bits become one octet, the
first in the lowest bit (spec section 4.2.5.2); reserved ones are padding.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    get_args,
    get_origin,
    get_type_hints,
)

from mqkit.wire.domain import Domain
from mqkit.wire.errors import WireError
from mqkit.wire.field_table import decode_sized_table, decode_table
from mqkit.wire.field_table_encoder import encode_table
from mqkit.wire.methods import Method
from mqkit.wire.spec import ReplyCode
from mqkit.wire.strings import (
    LENIENT,
    decode_longstr,
    decode_shortstr,
    encode_longstr,
    encode_shortstr,
)

Encoder = Callable[[Any], bytes]
Decoder = Callable[[bytes | memoryview, int], tuple[Any, int]]


def _encode_key(key: str) -> bytes:
    return encode_shortstr(key, LENIENT)


def _decode_key(data: bytes | memoryview, offset: int) -> tuple[str, int]:
    return decode_shortstr(data, offset, LENIENT)


def _decode_table(data: bytes | memoryview, offset: int) -> tuple[dict[str, Any], int]:
    _require_whole_table(data, offset)
    return decode_table(data, offset)


def _decode_declared_table(data: bytes | memoryview, offset: int) -> tuple[dict[str, Any], int]:
    _require_whole_table(data, offset)
    return decode_sized_table(data, offset)


def _require_whole_table(data: bytes | memoryview, offset: int) -> None:
    """A table that is longer than its frame is the frame's fault (501), and not the table's."""
    start = offset + 4
    if start > len(data) or start + int.from_bytes(data[offset:start], "big") > len(data):
        raise WireError(ReplyCode.FRAME_ERROR, "table is longer than what holds it")


_VARIABLE: dict[Domain, tuple[Encoder, Decoder]] = {
    Domain.SHORTSTR: (encode_shortstr, decode_shortstr),
    Domain.KEY: (_encode_key, _decode_key),
    Domain.LONGSTR: (encode_longstr, decode_longstr),
    Domain.TABLE: (encode_table, _decode_table),
    Domain.DECLARED_TABLE: (encode_table, _decode_declared_table),
}

_RESERVED_VALUES: dict[Domain, Any] = {Domain.SHORTSTR: "", Domain.LONGSTR: b""}


class Argument(NamedTuple):
    """One argument of a method."""

    name: str
    domain: Domain
    reserved: bool


class Step(Protocol):
    """Writes and reads one stretch of a method's arguments."""

    def encode(self, method: Method) -> bytes:
        """The bytes of this stretch. Raises ``EncodeError`` or ``struct.error``."""

    def decode(self, data: bytes | memoryview, offset: int, into: list[Any]) -> int:
        """Append the values at ``offset`` to ``into``, and return the offset after them.

        Raises ``WireError``, or ``struct.error`` where the data ends too early.
        """


class FixedStep:
    """Integers and then bits, in one ``struct``. Reserved ones are pad bytes."""

    __slots__ = ("_bits", "_integers", "_struct")

    def __init__(self, integers: list[Argument], bits: list[Argument]) -> None:
        self._integers = tuple(argument.name for argument in integers if not argument.reserved)
        self._bits = tuple(
            (argument.name, 1 << position)
            for position, argument in enumerate(bits)
            if not argument.reserved
        )
        layout = [_struct_format(argument) for argument in integers]
        if bits:
            layout.append("B" if self._bits else "x")
        self._struct = struct.Struct(">" + "".join(layout))

    def encode(self, method: Method) -> bytes:
        values = [getattr(method, name) for name in self._integers]
        if self._bits:
            values.append(sum(mask for name, mask in self._bits if getattr(method, name)))
        return self._struct.pack(*values)

    def decode(self, data: bytes | memoryview, offset: int, into: list[Any]) -> int:
        into.extend(self._struct.unpack_from(data, offset))
        if self._bits:
            octet = into.pop()
            for _, mask in self._bits:
                into.append(octet & mask != 0)
        return offset + self._struct.size


class VariableStep:
    """One argument that carries its own length: a string or a table."""

    __slots__ = ("_decode", "_encode", "_name")

    def __init__(self, argument: Argument) -> None:
        self._name = argument.name
        self._encode, self._decode = _VARIABLE[argument.domain]

    def encode(self, method: Method) -> bytes:
        return self._encode(getattr(method, self._name))

    def decode(self, data: bytes | memoryview, offset: int, into: list[Any]) -> int:
        value, offset = self._decode(data, offset)
        into.append(value)
        return offset


class ReservedStep:
    """A reserved string: sent empty, skipped when read."""

    __slots__ = ("_decode", "_octets")

    def __init__(self, argument: Argument) -> None:
        encode, self._decode = _VARIABLE[argument.domain]
        self._octets = encode(_RESERVED_VALUES[argument.domain])

    def encode(self, method: Method) -> bytes:
        return self._octets

    def decode(self, data: bytes | memoryview, offset: int, into: list[Any]) -> int:
        return self._decode(data, offset)[1]


def _struct_format(argument: Argument) -> str:
    letter = str(argument.domain.value)
    return f"{struct.calcsize('>' + letter)}x" if argument.reserved else letter


def arguments_of(method_class: type[Method]) -> list[Argument]:
    """The arguments in wire order, reserved ones included."""
    arguments = []
    for name, hint in get_type_hints(method_class, include_extras=True).items():
        reserved = get_origin(hint) is ClassVar
        annotated = get_args(hint)[0] if reserved else hint
        if get_origin(annotated) is Annotated:
            arguments.append(Argument(name, get_args(annotated)[1], reserved))
    return arguments


def steps_of(method_class: type[Method]) -> tuple[Step, ...]:
    """The steps that cover all arguments of the method, as few as can be."""
    steps: list[Step] = []
    integers: list[Argument] = []
    bits: list[Argument] = []

    def end_fixed_step() -> None:
        if integers or bits:
            steps.append(FixedStep(list(integers), list(bits)))
            integers.clear()
            bits.clear()

    for argument in arguments_of(method_class):
        if argument.domain is Domain.BIT:
            bits.append(argument)
        elif argument.domain in _VARIABLE:
            end_fixed_step()
            steps.append(ReservedStep(argument) if argument.reserved else VariableStep(argument))
        else:
            if bits:
                end_fixed_step()
            integers.append(argument)
    end_fixed_step()
    return tuple(steps)
