"""The route of one queue's dead letters: exchange, routing key, and the parts of x-death that all
of them share, looked up once for as long as the queue's limits stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.dead_letter.first_death_header import Pieces, pieces_of
from reference_broker.core.queue.death import DeathReason

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue

SHORTSTR_BYTES_MAX = 255
"""Of a name or a routing key on the wire. An argument is a longstr, and may be longer."""

PIECES_MAX = 64
"""Exchanges times reasons that a route remembers: a queue's messages come through few."""


class DeadLetterRoute:
    """The route of the dead letters of ``queue``. It holds while the queue's ``limits`` are these.

    ``exchange`` is the dead-letter exchange, and ``key`` the routing key that replaces the
    message's, or ``None``. ``exchange_octets`` is how every route begins, ``route`` all of it where
    there is a ``key``."""

    __slots__ = ("_pieces", "_queue", "exchange", "exchange_octets", "key", "limits", "route")

    def __init__(self, queue: Queue) -> None:
        self._queue = queue.name
        self._pieces: dict[tuple[DeathReason, bytes], Pieces] = {}
        self.limits = limits = queue.limits
        self.exchange = limits.dead_letter_exchange or ""
        self.exchange_octets = _shortstr(self.exchange)
        self.key = limits.dead_letter_routing_key
        self.route = b"" if self.key is None else self.exchange_octets + _shortstr(self.key)

    def pieces(self, reason: DeathReason, exchange: bytes) -> Pieces:
        """The pieces of the first death of a message that was published to ``exchange``."""
        found = self._pieces.get((reason, exchange))
        if found is None:
            if len(self._pieces) >= PIECES_MAX:
                self._pieces.clear()
            found = self._pieces[reason, exchange] = pieces_of(self._queue, reason, exchange)
        return found


def dead_letter_route_of(queue: Queue) -> DeadLetterRoute:
    """The route of the dead letters of ``queue``, made anew when its limits have changed."""
    route = queue.dead_letter_route
    if not isinstance(route, DeadLetterRoute) or route.limits is not queue.limits:
        route = DeadLetterRoute(queue)
        queue.keep_dead_letter_route(route)
    return route


def _shortstr(text: str) -> bytes:
    """Cut where it is too long. An argument may name an exchange that cannot be, which leads
    nowhere, or a key that no delivery can show whole."""
    octets = text.encode(errors="surrogateescape")[:SHORTSTR_BYTES_MAX]
    return bytes((len(octets),)) + octets
