"""The headers and properties of a message that an exchange may look at, beside the routing key."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from reference_broker.core.base.field_value import comparable
from reference_broker.core.message.header import headers_of, split_properties


class MessageHeaders:
    """The content header of one message, taken apart when somebody asks, and once.

    ``header`` is the content header's payload; ``None`` counts as no headers and no properties.
    All methods raise :exc:`ConnectionException` 502 for a header that can't be read.
    """

    __slots__ = ("_conditions", "_header", "_properties", "_table", "every_condition")

    def __init__(self, header: bytes | None) -> None:
        self._header = header
        self._properties: Mapping[int, bytes] | None = None if header else {}
        self._table: Mapping[str, Any] | None = None if header else {}
        self._conditions: dict[Hashable, None] | None = None
        self.every_condition: frozenset[Hashable] = frozenset()
        """:meth:`conditions`, once they were asked for, to compare sets by."""

    def __call__(self) -> Mapping[str, Any]:
        """The header table."""
        if self._table is None:
            assert self._header is not None
            self._table = headers_of(self._header)
        return self._table

    def conditions(self) -> dict[Hashable, None]:
        """All that a binding can ask of the header table, and finds: for each header its name, and
        the pair of its name and its value made :func:`comparable`. Read only."""
        if self._conditions is None:
            met: dict[Hashable, None] = {}
            for name, value in self().items():
                met[name] = met[name, comparable(value)] = None
            self._conditions = met
            self.every_condition = frozenset(met)
        return self._conditions

    def property(self, flag: int) -> bytes | None:
        """A property as it is on the wire, by its flag (:mod:`header`); ``None`` for none."""
        if self._properties is None:
            assert self._header is not None
            self._properties = split_properties(self._header)
        return self._properties.get(flag)


NO_HEADERS = MessageHeaders(None)
"""Of a message that has none."""
