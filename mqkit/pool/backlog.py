"""The backlog of a publisher: the octets that wait in its lanes to be written, and the line of
callers who wait for room there.

While the broker is away, or blocks, callers go on. The bodies that they bring are bounded here: who
finds the bound reached stands in line, first come, first served, and has the body made when it is
his turn. A message larger than the bound is let through when nothing else waits to be written.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from mqkit.pool.terms import Terms

WAITING_OCTETS_MAX = 64 * 1024 * 1024
"""Four of the largest messages that RabbitMQ takes by default, and of small ones many seconds'
worth."""

UNKNOWN_SIZE = 1
"""The octets that are asked for a body that is not made yet: any room at all."""


class Place:
    """A caller's place in the line: a :class:`mqkit.pool.calls.Call`."""

    __slots__ = ("blocked", "done", "ended", "error", "octets", "terms")

    def __init__(self, terms: Terms, octets: int) -> None:
        self.terms = terms
        self.octets = octets
        self.done = self._new_alarm()
        """Done when the caller has to look again."""
        self.ended = False
        """True when the caller's turn will not come: time is over, or the broker blocks."""
        self.blocked: str | None = None
        """The broker's reason, if it was that."""
        self.error: BaseException | None = None

    def expire(self) -> None:
        """Time is over."""
        self.ended = True
        self.wake()

    def refuse(self, reason: str) -> None:
        """The broker blocks, and the caller does not want to wait for it."""
        self.blocked = reason
        self.expire()

    def fail(self, error: BaseException) -> None:
        """The call ends with an error."""
        self.error = error
        self.expire()

    def wake(self) -> None:
        """Let the caller look whether it is his turn. Idempotent."""
        if not self.done.done():
            self.done.set_result(None)

    async def sleep(self) -> None:
        """Return when something has changed."""
        self.done = self._new_alarm()
        await self.done

    @staticmethod
    def _new_alarm() -> asyncio.Future[None]:
        return asyncio.get_running_loop().create_future()


class Backlog:
    """Shared by the lanes of a publisher. For one event loop."""

    def __init__(self, octets_max: int = WAITING_OCTETS_MAX) -> None:
        self._octets_max = octets_max
        self.room = octets_max
        """The octets that may still be put. Below zero where something large was let through, or
        is to be written again. Who comes when there is none, or a line, has to stand in line."""
        self.line: OrderedDict[Place, None] = OrderedDict()

    def fits(self, octets: int) -> bool:
        """True if so many octets may be put, by whose turn it is."""
        return octets <= self.room or self.room == self._octets_max

    def take(self, octets: int) -> None:
        """So many octets wait no more: they go to a channel, or nobody wants them any more."""
        self.room += octets
        if self.line:  # a call less where nobody waits
            self._call_first()

    def join(self, place: Place) -> None:
        """Stand in line, at its end. :meth:`leave` it, whatever happens."""
        self.line[place] = None

    def leave(self, place: Place) -> None:
        """It is the next one's turn. Who leaves to put his message does it at once, with no
        ``await`` between: the next one wakes after that."""
        del self.line[place]
        self._call_first()

    async def turn(self, place: Place) -> bool:
        """Return when ``place`` is the first and its octets fit; false if it has ended before.

        Raises what the place was failed with. May be called again with more octets.
        """
        while not (place.ended or (next(iter(self.line)) is place and self.fits(place.octets))):
            await place.sleep()
        if place.error is not None:
            raise place.error
        return not place.ended

    def refuse(self, reason: str) -> None:
        """The broker blocks: those in line who don't want to wait for it hear of it."""
        for place in tuple(self.line):
            if place.terms.fails_when_blocked:
                place.refuse(reason)

    def _call_first(self) -> None:
        if self.line:
            first = next(iter(self.line))
            if self.fits(first.octets):
                first.wake()
