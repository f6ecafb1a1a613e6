"""The types of field table values: their tags on the wire, and the names that RabbitMQ gives them.

    tag  name           python            octets after the tag
    ---  -------------  ----------------  ----------------------------------------
    t    bool           bool              1
    b    byte           int               1, signed
    B    unsignedbyte   int               1
    s    short          int               2, signed
    u    unsignedshort  int               2
    I    signedint      int               4, signed
    i    unsignedint    int               4
    l, L long           int               8, signed (both are, in RabbitMQ)
    f    float          float             4, IEEE 754, finite
    d    double         float             8, IEEE 754, finite
    D    decimal        Decimal           1 of scale, 4 of unscaled value, signed
    S    longstr        str, else bytes   4 of length, then that many
    A    array          list              4 of length in octets, then tagged values
    T    timestamp      datetime in UTC   8, unsigned, seconds since 1970
    F    table          dict              4 of length in octets, then named, tagged values
    V    void           None              0
    x    binary         bytes             4 of length, then that many

Source: https://www.rabbitmq.com/amqp-0-9-1-errata.html, section 3 (the letters of the
specification's own grammar were never what brokers and clients use).

NaN and the infinities are no values: RabbitMQ can't read them, and ends the whole connection of
who sends one (3.10: with 541 for a message's header, with nothing at all for a method's argument).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Self

MAX_TABLE_DEPTH = 32
"""Tables and arrays inside one another. Real headers have three (a table, an array, a table in
``x-death``); without a bound a frame of nested arrays exhausts the stack of whoever reads it."""

MAX_TABLE_ITEMS = 16_384
"""Values in one table, those of inner tables and arrays counted. Real tables have tens; without a
bound a frame of 128 KiB makes 130,000 objects out of one octet each."""

NAMES = {
    "t": "bool",
    "b": "byte",
    "B": "unsignedbyte",
    "s": "short",
    "u": "unsignedshort",
    "I": "signedint",
    "i": "unsignedint",
    "l": "long",
    "f": "float",
    "d": "double",
    "D": "decimal",
    "S": "longstr",
    "A": "array",
    "T": "timestamp",
    "F": "table",
    "V": "void",
    "x": "binary",
}
"""Tag to RabbitMQ's name, as its error texts have it ("... of type 'signedint' ...")."""

INTEGERS = {
    tag: struct.Struct(">" + layout)
    for tag, layout in {
        "b": "b",
        "B": "B",
        "s": "h",
        "u": "H",
        "I": "i",
        "i": "I",
        "l": "q",
        "L": "q",
    }.items()
}

FLOATS = {"f": struct.Struct(">f"), "d": struct.Struct(">d")}
"""Packed and unpacked floats may be infinite or NaN, which the callers refuse."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A value to be sent under exactly this tag: ``Typed("s", 5)`` is a 16-bit 5.

    Decoding gives one only for a timestamp after the year 9999, which ``datetime`` can't hold, or
    where the caller asked for exact types.
    """

    tag: str
    value: Any


class SizedInt(int):
    """An integer that came under another tag than ``encode_table`` would send it with. It is an
    ``int`` to whoever counts with it, and goes out under its own ``tag`` again. What is worked out
    from it is a plain ``int``."""

    tag: str

    def __new__(cls, tag: str, value: int) -> Self:
        sized = super().__new__(cls, value)
        sized.tag = tag
        return sized
