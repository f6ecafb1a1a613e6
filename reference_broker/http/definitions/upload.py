"""A definitions file as a page's form uploads it (``multipart/form-data``, RFC 7578), as RabbitMQ's
own page does: the field ``file``, and ``redirect``, to which the browser is sent afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from reference_broker.http.request.answer import bad_request

PIECE_BYTES = 16 * 1024
"""Bytes of a form that are read in one step: 3 ms where it is all beginnings of a boundary."""

FIELDS_MAX = 16
"""Fields of a form. RabbitMQ's page has four."""

FIELD_BYTES_MAX = 4_096
"""Bytes of a field that is not the file."""

_FILE, _REDIRECT = b"file", b"redirect"
_OF_THIS_SITE = re.compile(r"(?![/\\]{2})[^\x00-\x20:\\]*\Z")
"""A place that the browser may be sent to: a path, with whatever comes after it."""


class Upload:
    """A form that is read a piece at a time. ``file`` is its last field of that name, as in
    RabbitMQ; a field that has another name is skipped."""

    def __init__(self, content_type: str) -> None:
        """Raises :exc:`ApiError` 400 for a type that doesn't say how its parts are divided."""
        _, options = parse_options_header(content_type)
        self._fields: dict[bytes, bytearray] = {}
        self._header = (bytearray(), bytearray())
        self._field: bytearray | None = None
        self._count = 0
        self._is_whole = False
        try:
            self._parser = MultipartParser(
                options.get(b"boundary", b""),
                {
                    "on_part_begin": self._begin,
                    "on_part_data": self._data,
                    "on_header_field": lambda data, start, end: self._name(data[start:end]),
                    "on_header_value": lambda data, start, end: self._value(data[start:end]),
                    "on_header_end": self._header_ended,
                    "on_end": self._end,
                },
            )
        except FormParserError as error:
            raise _no_form() from error
        if b"boundary" not in options:
            raise _no_form()

    def read(self, body: bytes) -> Iterator[None]:
        """Read the form, a piece a step. Raises :exc:`ApiError` 400 for a form that is none, or has
        no file."""
        for start in range(0, len(body), PIECE_BYTES):
            try:
                self._parser.write(body[start : start + PIECE_BYTES])
            except FormParserError as error:
                raise _no_form() from error
            yield
        if not self._is_whole:
            raise _no_form()
        if _FILE not in self._fields:
            raise bad_request("the form has no field 'file'")

    @property
    def file(self) -> bytes:
        """The octets of the file."""
        return bytes(self._fields[_FILE])

    @property
    def redirect(self) -> str | None:
        """The place that the form names for afterwards; ``None`` for none, or one that is not on
        this site."""
        value = self._fields.get(_REDIRECT, b"").decode("latin-1")
        return value if value and _OF_THIS_SITE.match(value) else None

    # The parser's events

    def _begin(self) -> None:
        self._count += 1
        if self._count > FIELDS_MAX:
            raise bad_request(f"a form has at most {FIELDS_MAX} fields")
        self._field = None

    def _name(self, octets: bytes) -> None:
        self._header[0].extend(octets)

    def _value(self, octets: bytes) -> None:
        self._header[1].extend(octets)

    def _header_ended(self) -> None:
        name, value = self._header
        if name.lower() == b"content-disposition":
            _, options = parse_options_header(bytes(value))
            field = options.get(b"name", b"")
            if field in (_FILE, _REDIRECT):
                self._field = self._fields[field] = bytearray()
        name.clear()
        value.clear()

    def _data(self, data: bytes, start: int, end: int) -> None:
        field = self._field
        if field is None:
            return
        if field is not self._fields.get(_FILE) and len(field) + end - start > FIELD_BYTES_MAX:
            raise bad_request("a field of the form is too large")
        field += data[start:end]

    def _end(self) -> None:
        self._is_whole = True


def _no_form() -> Exception:
    return bad_request("the body is no form of its content type")
