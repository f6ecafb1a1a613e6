"""A large JSON text, read a portion at a time, into the value that :func:`json.loads` gives.

``json.loads`` is one call of C that holds the interpreter: 17 ms for a megabyte, and a thread would
not help. So a text above :data:`AT_ONCE_BYTES` goes to a push parser in pieces (ijson over yajl).
Two things it does not do well are done here. It looks at an unfinished string or number from its
beginning whenever more of it comes, so a piece ends outside of strings, and a string that is longer
than a piece is decoded beside it. And it turns half of a surrogate pair into something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from typing import Any, TypeAlias

import ijson

AT_ONCE_BYTES = 16 * 1024
"""Bytes of a text that may be given to ``json.loads`` whole: 0.4 ms, and up to 8,192 values."""

VALUES_MAX = AT_ONCE_BYTES // 2
"""Values (keys, too) of a body that describes one object: as many as a text that is read at once
can have. What is done with an object is proportional to its values, and is not done in portions."""

PIECE_BYTES = 8 * 1024
"""Bytes that are parsed between two looks at the portion: 1.3 ms if it is all small numbers."""

PORTION_BYTES = 64 * 1024
PORTION_EVENTS = 4_096
"""Octets and values of a portion, of which whatever comes first ends it: 1.5 ms."""

NUMBER_DIGITS_MAX = 4_300
"""Digits in a row: what ``int`` takes (``sys.get_int_max_str_digits``); more take it too long, and
make a SystemError of yajl's caller."""

DEPTH_MAX = 900
"""Tables within tables: about where ``json.loads`` gives up (Python's limit of recursion)."""

_OUTSIDE = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
"""As much as there is up to the beginning of an unfinished string."""

_INSIDE = re.compile(
    rb'(?:[^"\\]++'
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|\\u(?![dD][89abAB])[0-9a-fA-F]{4}"
    rb"|\\[^u])*+",
    re.DOTALL,
)
"""As much of a string as there is, up to its end, an unfinished escape, or a wrong one."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NUMBER_CHARACTERS = b"0123456789.eE+-"
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (NUMBER_DIGITS_MAX + 1))

_HALF_PAIR = re.compile(
    rb"(?<!\\)(?:\\\\)*+\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])",
)
"""The escaped first half of a surrogate pair without the second. (For a second half without the
first, the parser has no character.)"""

_Event: TypeAlias = tuple[str, Any]


class TooManyValues(ValueError):
    """The text has more values than the reader was told to take."""


class JsonReader:
    """Reads one text: call :meth:`portion` until it says that ``value`` is there.

    Numbers are ``int`` and ``float``, of several members of one name the last counts, and what is
    no number of JSON (``NaN``, ``1e400``) is refused, as is half of a surrogate pair. Refused as
    well is a number of more than :data:`NUMBER_DIGITS_MAX` digits.
    """

    def __init__(self, text: bytes, values_max: int) -> None:
        self._text = text.removeprefix(b"\xef\xbb\xbf")
        self._values_max = values_max
        self._builder = _Builder()
        self._steps = self._read()

    @property
    def value(self) -> Any:
        """The value, as far as it is read."""
        return self._builder.value

    @property
    def events(self) -> int:
        """The values that were read, with members' names and the ends of tables."""
        return self._builder.events

    def portion(self) -> bool:
        """Read on, for a portion. True when everything is read. Raises :exc:`TooManyValues`, and
        :exc:`ValueError` for a text that is no JSON; then the reader is of no more use."""
        builder = self._builder
        octets, events = PORTION_BYTES, builder.events + PORTION_EVENTS
        try:
            while octets > 0 and builder.events < events:
                read = next(self._steps, None)
                if read is None:
                    return True
                octets -= read
                if builder.events > self._values_max:
                    raise TooManyValues(f"more than {self._values_max} values")
        except (ijson.JSONError, ArithmeticError, RecursionError) as error:
            raise ValueError(str(error)) from error
        return False

    def _read(self) -> Generator[int, None, None]:
        """Reads to the end, and says how many bytes each step took."""
        events: list[_Event] = ijson.sendable_list()
        parser = ijson.basic_parse_coro(events)
        text, at = self._text, 0
        while at < len(text):
            match = _OUTSIDE.match(text, at, at + PIECE_BYTES)
            end = at if match is None else match.end()
            if end > at:
                read = self._piece(parser, events, at, end)
                at += read
                yield read
                continue
            parts: list[str] = []
            end = at + 1
            while text[end : end + 1] != b'"':
                start, end = end, self._end_of_part(end)
                parts.append(_decoded(text[start:end]))
                yield end - start
            parser.send(b'""')  # it tells of a member's name, or of a value, in this place
            self._builder.take([(kind, "".join(parts)) for kind, _ in events])
            events.clear()
            at = end + 1
            yield 1
        parser.close()
        self._builder.take(events)

    def _piece(self, parser: Any, events: list[_Event], at: int, end: int) -> int:
        """Parse up to ``end``, or to where the last number of it begins; the bytes that it were."""
        piece = self._text[at:end]
        if end < len(self._text):
            piece = piece.rstrip(_NUMBER_CHARACTERS)
        if _LONG_NUMBER.search(piece) and _LONG_NUMBER.search(_STRING.sub(b"", piece)):
            raise ValueError("a number is too long")
        if b"\\u" in piece and _HALF_PAIR.search(piece):
            raise ValueError("half of a surrogate pair")
        if not piece:
            raise ValueError("a number is too long, or stands before a string")
        parser.send(piece)
        self._builder.take(events)
        events.clear()
        return len(piece)

    def _end_of_part(self, start: int) -> int:
        """The end of a part of a long string that can be decoded by itself."""
        text = self._text
        match = _INSIDE.match(text, start, start + PIECE_BYTES)
        end = start if match is None else match.end()
        if end == start or end >= len(text):
            raise ValueError("a string without an end, or with a wrong escape")
        if text[end : end + 1] == b'"':
            return end
        # Not within a character.
        while end - 1 > start and text[end] & 0xC0 == 0x80:
            end -= 1
        return end


def _decoded(part: bytes) -> str:
    """A part of a string. Raises :exc:`ValueError` for what JSON doesn't allow in one."""
    text: str = json.loads(f'"{part.decode()}"')
    text.encode()  # half of a surrogate pair has no UTF-8
    return text


class _Builder:
    """Makes the value of the parser's events; ``events`` is how many there were."""

    __slots__ = ("_above", "_container", "_key", "_names", "events", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.events = 0
        self._container: Any = None
        self._key: str | None = None
        self._above: list[tuple[Any, str | None]] = []
        self._names: dict[str, str] = {}

    def take(self, events: list[_Event]) -> None:
        """Take what the parser has told. Raises :exc:`ValueError` for a value that can't be."""
        self.events += len(events)
        container, key, names = self._container, self._key, self._names
        for kind, value in events:
            if kind == "map_key":
                key = names.setdefault(value, value)
                continue
            if kind == "end_map" or kind == "end_array":
                container, key = self._above.pop()
                continue
            if kind == "start_map":
                value = {}
            elif kind == "start_array":
                value = []
            elif kind == "number" and type(value) is not int:
                value = _finite(value)
            if container is None:
                self.value = value
            elif key is None:
                container.append(value)
            else:
                container[key] = value
            if kind == "start_map" or kind == "start_array":
                if len(self._above) >= DEPTH_MAX:
                    raise ValueError("too deep")
                self._above.append((container, key))
                container, key = value, None
        self._container, self._key = container, key


def _finite(number: Any) -> float:
    value = float(number)
    if value - value != 0:
        raise ValueError(f"{number} is no number of JSON")
    return value
