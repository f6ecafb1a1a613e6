"""The elementary types ("domains") of method arguments, as annotations that the codec reads.

A method's dataclass is its layout: fields in wire order, each annotated with one of these. A
reserved argument of the specification is a ``ClassVar`` with such an annotation: it has its place
on the wire, is sent as zero, is skipped when read, and nobody sees it.

A long string is ``bytes``: the specification calls it binary, and SASL responses are. A key is a
short string that need not be UTF-8: RabbitMQ looks at every name that it is given but those of
basic.publish, and some clients put numbers or digests into routing keys. Octets that are no text
become lone surrogates, and the same octets again (:data:`mqkit.wire.strings.LENIENT`).

A declared table is a table whose integers keep their size when it is read: who is told that a
declaration differs is told the types, too (:class:`mqkit.wire.field_type.SizedInt`).
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any


class Domain(Enum):
    """Domains of arguments, as they are encoded (spec section 4.2.5). A number's value is its
    struct format."""

    OCTET = "B"
    SHORT = "H"
    LONG = "L"
    LONGLONG = "Q"
    BIT = "bit"
    SHORTSTR = "shortstr"
    KEY = "key"
    LONGSTR = "longstr"
    TABLE = "table"
    DECLARED_TABLE = "declared table"


Octet = Annotated[int, Domain.OCTET]
Short = Annotated[int, Domain.SHORT]
Long = Annotated[int, Domain.LONG]
LongLong = Annotated[int, Domain.LONGLONG]
Bit = Annotated[bool, Domain.BIT]
ShortStr = Annotated[str, Domain.SHORTSTR]
Key = Annotated[str, Domain.KEY]
LongStr = Annotated[bytes, Domain.LONGSTR]
Table = Annotated[dict[str, Any], Domain.TABLE]
DeclaredTable = Annotated[dict[str, Any], Domain.DECLARED_TABLE]
