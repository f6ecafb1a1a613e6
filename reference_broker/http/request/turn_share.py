"""HTTP's share of the event loop: one portion of work a turn, whoever asks and however many.

The loop is the broker's. All HTTP sockets together (management, HTTPS, metrics) have one
:class:`TurnShare`: what they do takes places in it, and in each turn of the loop one place is
given, so that HTTP takes at most :data:`PORTION_S` of any turn.

    long answer:   for slice in slices:
                       await next_turn(request)
                       ...at most a portion of work, nothing awaited that a client decides...
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from functools import partial
from typing import Any, NamedTuple

from starlette.requests import Request

from reference_broker.core.base.fair_queue import FairQueue

PORTION_S = 0.002
"""Seconds that one portion may take: about 100 rows of queues rendered and encoded, 30 KB of JSON
decoded. Whoever does more takes another place for it."""

_SCOPE_KEY = "mqkit.turns"


def _nothing() -> None:
    pass


class TurnShare:
    """Gives places, one in each turn of the loop. Lanes have them in turns, so that nobody waits
    for all that another one asks for; within a lane first come is first served.

    For the event loop's thread. What waits is bounded by whoever asks: each socket and each request
    waits for one place at a time. ``begins`` and ``ends`` are called around what is done in each
    place, for whoever measures it.
    """

    def __init__(
        self, begins: Callable[[], object] = _nothing, ends: Callable[[], object] = _nothing
    ) -> None:
        self._begins = begins
        self._ends = ends
        self._waiting: FairQueue[Callable[[], None]] = FairQueue()
        self._is_due = False

    def __len__(self) -> int:
        """The number of places that are waited for."""
        return len(self._waiting)

    def ask(self, step: Callable[[], None], lane: str = "") -> None:
        """Call ``step``, at most a portion of work, in the lane's next place: in a later turn of
        the loop, never at once."""
        # In the turn after, as a coroutine that has waited can't go on sooner either: so there are
        # never two portions in a turn.
        self._push(partial(_soon, step), lane)

    async def turn(self, lane: str = "") -> None:
        """Wait for the lane's next place. From here to the next ``await`` do at most a portion of
        work; a cancelled waiter leaves its place unused."""
        come: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._push(partial(_settle, come), lane)
        await come

    def _push(self, place: Callable[[], None], lane: str) -> None:
        self._waiting.push(lane, place)
        self._go_on()

    def _go_on(self) -> None:
        if self._waiting and not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._give)

    def _give(self) -> None:
        self._is_due = False
        give = self._waiting.pop()
        self._go_on()
        if give is not None:
            # A callback of the next turn does what is done there; these are its neighbours.
            loop = asyncio.get_running_loop()
            loop.call_soon(self._begins)
            give()
            loop.call_soon(self._ends)


class Turns(NamedTuple):
    """The places of one request: ``lane`` is that of the address it came from."""

    share: TurnShare
    lane: str

    def put_into(self, scope: MutableMapping[str, Any]) -> None:
        """Have :func:`next_turn` find them."""
        scope[_SCOPE_KEY] = self


async def next_turn(request: Request) -> None:
    """Wait for the next place of ``request`` in the loop, before each portion of its work
    (:data:`PORTION_S`) but the first: a request has a place when its handler is called.

    Where nobody has given the request a share (an application without a listener) the loop has
    its turn, and that is all.
    """
    turns: Turns | None = request.scope.get(_SCOPE_KEY)
    if turns is None:
        await asyncio.sleep(0)
    else:
        await turns.share.turn(turns.lane)


def _soon(step: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(step)


def _settle(come: asyncio.Future[None]) -> None:
    if not come.done():  # the request may have left
        come.set_result(None)
