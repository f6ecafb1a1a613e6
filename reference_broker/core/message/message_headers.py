"""The headers and properties of a message that an exchange may look at, beside the routing key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference_broker.core.message.header import headers_of, split_properties


class MessageHeaders:
    """The content header of one message, taken apart when somebody asks, and once.

    ``header`` is the content header's payload; ``None`` counts as no headers and no properties.
    Both methods raise :exc:`ConnectionException` 502 for a header that can't be read.
    """

    __slots__ = ("_header", "_properties", "_table")

    def __init__(self, header: bytes | None) -> None:
        self._header = header
        self._properties: Mapping[int, bytes] | None = None if header else {}
        self._table: Mapping[str, Any] | None = None if header else {}

    def __call__(self) -> Mapping[str, Any]:
        """The header table."""
        if self._table is None:
            assert self._header is not None
            self._table = headers_of(self._header)
        return self._table

    def property(self, flag: int) -> bytes | None:
        """A property as it is on the wire, by its flag (:mod:`header`); ``None`` for none."""
        if self._properties is None:
            assert self._header is not None
            self._properties = split_properties(self._header)
        return self._properties.get(flag)


NO_HEADERS = MessageHeaders(None)
"""Of a message that has none."""
