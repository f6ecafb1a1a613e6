"""The pauses of a server, in which it has no AMQP clients: an operator's, a drain, and a cluster
node's that is cut off. It has clients again when the last one is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from enum import Enum, unique


@unique
class Cause(Enum):
    """Whoever wants a pause."""

    OPERATOR = "an operator"
    DRAIN = "an operator, who is going to stop the node"
    CLUSTER = "the node, which is cut off from its cluster"


class Pauses:
    """``dismiss`` accepts no more connections, and returns when all are closed, for the reason that
    it is given; ``listen`` accepts them again, or raises ``OSError``. One of them at a time is
    under way."""

    def __init__(
        self, dismiss: Callable[[str], Awaitable[None]], listen: Callable[[], Awaitable[None]]
    ) -> None:
        self._dismiss = dismiss
        self._listen = listen
        self._reasons: dict[Cause, str] = {}
        self._turn = asyncio.Lock()
        self._is_paused = False
        self._is_over = False

    @property
    def causes(self) -> AbstractSet[Cause]:
        """Whoever wants a pause now. Read only."""
        return self._reasons.keys()

    def reason_of(self, cause: Cause) -> str:
        """The reason that this one has given for its pause; empty where it wants none."""
        return self._reasons.get(cause, "")

    async def begin(self, cause: Cause, reason: str) -> None:
        """Have no clients until :meth:`end`; returns when there are none. Idempotent."""
        self._reasons[cause] = reason
        await self.settle()

    async def end(self, cause: Cause) -> None:
        """Have clients again, unless somebody else wants none. Idempotent. Raises ``OSError`` where
        the address can't be had; call :meth:`settle` to try again."""
        self._reasons.pop(cause, None)
        await self.settle()

    async def settle(self) -> None:
        """Bring about what is wanted now. Idempotent. Raises as :meth:`end` does."""
        async with self._turn:
            if self._is_over or self._is_paused is bool(self._reasons):
                return
            if self._reasons:
                self._is_paused = True
                await self._dismiss(next(iter(self._reasons.values())))
            else:
                await self._listen()
                self._is_paused = False

    async def close(self) -> None:
        """Begin and end no more: the server stops. Returns when nothing is under way.
        Idempotent."""
        self._is_over = True
        async with self._turn:
            pass
