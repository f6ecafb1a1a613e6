"""The content of a published message: route, header and body, and its position in the journal.

A content header travels as bytes: it is decoded no further than the properties that a queue acts
on (delivery mode, priority, expiration), and its field table only when a headers exchange or
dead-lettering asks.
"""

from __future__ import annotations

from typing import TypeAlias

Body: TypeAlias = bytes | bytearray | memoryview
"""Nobody changes it any more."""

NOT_STORED = -1
"""The position of a message that only memory has."""


class Content:
    """One message, shared by every queue that it was routed to.

    ``route`` is the exchange name and the routing key, each as a shortstr: exactly the bytes that
    ``basic.deliver`` and ``basic.return`` put there. ``header`` is the content header frame's
    payload as it arrived (class id, weight, body size, property flags, properties). Neither these
    nor ``body`` change after creation; a large body is the
    :class:`~reference_broker.core.base.octet_block.OctetBlock` that it was collected in.

    ``position`` is where the journal has it
    (:class:`~reference_broker.core.journal.journal.Journal` says what a position is), and
    ``stored`` how many of the log's bytes are one entry's share of it."""

    __slots__ = ("body", "header", "position", "route", "stored")

    def __init__(
        self,
        route: bytes,
        header: bytes,
        body: Body,
        position: int = NOT_STORED,
        stored: int = 0,
    ) -> None:
        self.route = route
        self.header = header
        self.body = body
        self.position = position
        self.stored = stored

    @property
    def size(self) -> int:
        """Bytes that this message is accounted for (body, header and route)."""
        return len(self.body) + len(self.header) + len(self.route)

    def again(self) -> Content:
        """The same message, of which the journal knows nothing yet. The octets are shared."""
        return Content(self.route, self.header, self.body)
