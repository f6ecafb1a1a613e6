"""Short and long strings: a length, then that many octets (spec section 4.2.5.3).

A length is always checked against the data before it is used.
"""

from __future__ import annotations

from mqkit.wire.errors import EncodeError, MalformedText, WireError
from mqkit.wire.spec import MAX_SHORTSTR_SIZE, ReplyCode

LENIENT = "surrogateescape"
"""For property values, table keys and routing keys, which RabbitMQ hands on without looking: octets
that are not UTF-8 become lone surrogates, and the same octets again when encoded. A consumer that
refused such a message would be sent it again for ever."""

_OCTETS = tuple(bytes((value,)) for value in range(MAX_SHORTSTR_SIZE + 1))
"""Each length of a short string, as it is written."""


def encode_shortstr(text: str, errors: str = "strict") -> bytes:
    """One octet of length, then UTF-8. Raises :exc:`EncodeError` above 255 bytes.

    ``errors`` is what Python's codecs call it: "strict" or :data:`LENIENT`.
    """
    try:
        octets = text.encode() if text.isascii() else text.encode("utf-8", errors)
    except (AttributeError, TypeError, UnicodeEncodeError) as error:
        raise EncodeError(f"not a text: {text!r:.80}") from error
    if len(octets) > MAX_SHORTSTR_SIZE:
        raise EncodeError(
            f"a short string holds {MAX_SHORTSTR_SIZE} bytes, got {len(octets)}: {text!r:.80}..."
        )
    return _OCTETS[len(octets)] + octets


def decode_shortstr(
    data: bytes | memoryview, offset: int = 0, errors: str = "strict"
) -> tuple[str, int]:
    """The text at ``offset``, and the offset after it. Raises :exc:`WireError` (501)."""
    start = offset + 1
    if start > len(data):
        raise WireError(ReplyCode.FRAME_ERROR, "short string has no length")
    end = start + data[offset]
    if end > len(data):
        raise WireError(ReplyCode.FRAME_ERROR, "short string is longer than what holds it")
    try:
        return str(data[start:end], "utf-8", errors), end
    except UnicodeDecodeError as error:
        raise MalformedText from error


def encode_longstr(octets: bytes | bytearray | memoryview) -> bytes:
    """Four octets of length, then the bytes as they are."""
    if not isinstance(octets, (bytes, bytearray, memoryview)):
        raise EncodeError(f"a long string wants bytes, got {type(octets).__name__}")
    return len(octets).to_bytes(4, "big") + octets


def decode_longstr(data: bytes | memoryview, offset: int = 0) -> tuple[bytes, int]:
    """The bytes at ``offset``, and the offset after them. Raises :exc:`WireError` (501)."""
    start = offset + 4
    if start > len(data):
        raise WireError(ReplyCode.FRAME_ERROR, "long string has no length")
    end = start + int.from_bytes(data[offset:start], "big")
    if end > len(data):
        raise WireError(ReplyCode.FRAME_ERROR, "long string is longer than what holds it")
    return bytes(data[start:end]), end
