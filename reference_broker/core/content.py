"""What a published message carries through the broker, and the few facts that routing needs of it.

A content header travels as bytes: it is decoded no further than the properties that a queue acts
on (delivery mode, priority, expiration), and its field table only when a headers exchange or
dead-lettering asks.
"""

from __future__ import annotations


class Content:
    """One message, shared by every queue that it was routed to. Never changed after creation.

    ``route`` is the exchange name and the routing key, each as a shortstr: exactly the bytes that
    ``basic.deliver`` and ``basic.return`` put there. ``header`` is the content header frame's
    payload as it arrived (class id, weight, body size, property flags, properties). ``position``
    is where the log has the record that holds the body, or -1 for a message that it does not hold.
    """

    __slots__ = ("body", "header", "position", "route")

    def __init__(self, route: bytes, header: bytes, body: bytes, position: int = -1) -> None:
        self.route = route
        self.header = header
        self.body = body
        self.position = position

    @property
    def size(self) -> int:
        """Bytes that this message is accounted for (body, header and route)."""
        return len(self.body) + len(self.header) + len(self.route)
