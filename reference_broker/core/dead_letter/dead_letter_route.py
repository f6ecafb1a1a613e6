"""The route of one queue's dead letters: exchange, routing key, and the parts of x-death that all
of them share, looked up once for as long as the queue's limits stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.dead_letter.first_death_header import (
    Pieces,
    first_death,
    pieces_of,
    with_first_death,
)
from reference_broker.core.queue.death import DeathReason

if TYPE_CHECKING:
    from reference_broker.core.dead_letter.letter_header import LetterHeader
    from reference_broker.core.queue.queue import Queue

SHORTSTR_BYTES_MAX = 255
"""Of a name or a routing key on the wire. An argument is a longstr, and may be longer."""

PIECES_MAX = 64
"""Exchanges times reasons that a route remembers: a queue's messages come through few."""


REPEATED_HEADER_BYTES_MAX = 128
"""Publishers repeat short headers. With longer ones a route would hold more than its queue does."""


class LikeDeaths:
    """Messages that came to a queue by one route, and leave it for one ``reason`` in one second:
    ``route`` and routing ``key`` of their dead letters, and their first death.

    :meth:`letter_of` makes the header of one, and makes it once for those that have the same."""

    __slots__ = (
        "_header",
        "_letter",
        "came_by",
        "death",
        "exchange",
        "key",
        "reason",
        "route",
        "second",
    )

    def __init__(
        self, target: DeadLetterRoute, came_by: bytes, reason: DeathReason, wall_ms: int
    ) -> None:
        exchange, routing_key = split_route(came_by)
        self.came_by = came_by
        self.reason = reason
        self.second = wall_ms // 1000
        self.exchange = exchange
        self.death = first_death(target.pieces(reason, exchange), wall_ms, routing_key)
        if target.key is None:
            self.key = routing_key.decode(errors="surrogateescape")
            self.route = target.exchange_octets + came_by[1 + len(exchange) :]
        else:
            self.key = target.key
            self.route = target.route
        self._header = b""
        self._letter: LetterHeader | None = None

    def letter_of(self, header: bytes, bytes_max: int) -> LetterHeader | None:
        """:func:`with_first_death` of ``header``."""
        if header == self._header:
            return self._letter
        letter = with_first_death(header, self.death, bytes_max)
        if len(header) <= REPEATED_HEADER_BYTES_MAX:
            self._header = header
            self._letter = letter
        return letter


class DeadLetterRoute:
    """The route of the dead letters of ``queue``. It holds while the queue's ``limits`` are these.

    ``exchange`` is the dead-letter exchange, and ``key`` the routing key that replaces the
    message's, or ``None``. ``exchange_octets`` is how every route begins, ``route`` all of it where
    there is a ``key``."""

    __slots__ = (
        "_like",
        "_pieces",
        "_queue",
        "exchange",
        "exchange_octets",
        "key",
        "limits",
        "route",
    )

    def __init__(self, queue: Queue) -> None:
        self._queue = queue.name
        self._like: LikeDeaths | None = None
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

    def like_deaths(self, came_by: bytes, reason: DeathReason, wall_ms: int) -> LikeDeaths:
        """Those of a message whose :attr:`Content.route` is ``came_by``."""
        like = self._like
        if (
            like is None
            or like.came_by != came_by
            or like.reason is not reason
            or like.second != wall_ms // 1000
        ):
            like = self._like = LikeDeaths(self, came_by, reason, wall_ms)
        return like


def dead_letter_route_of(queue: Queue) -> DeadLetterRoute:
    """The route of the dead letters of ``queue``, made anew when its limits have changed."""
    route = queue.dead_letter_route
    if not isinstance(route, DeadLetterRoute) or route.limits is not queue.limits:
        route = DeadLetterRoute(queue)
        queue.keep_dead_letter_route(route)
    return route


def split_route(route: bytes) -> tuple[bytes, bytes]:
    """Exchange name and routing key of :attr:`Content.route`."""
    end = 1 + route[0]
    return route[1:end], route[end + 1 :]


def _shortstr(text: str) -> bytes:
    """Cut where it is too long. An argument may name an exchange that cannot be, which leads
    nowhere, or a key that no delivery can show whole."""
    octets = text.encode(errors="surrogateescape")[:SHORTSTR_BYTES_MAX]
    return bytes((len(octets),)) + octets
