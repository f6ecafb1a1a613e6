"""An inbox that hands out its messages at a pace."""

from __future__ import annotations

import asyncio

from mqkit.consumer.rate.pace import Pace
from mqkit.consumer.settlement_steps import Arrival


class PacedInbox(asyncio.Queue[Arrival | None]):
    """A message whose turn has not come is still in the inbox: who gives back what is not begun
    finds it there, by ``empty`` and ``get_nowait``. ``None``, the end, needs no turn."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace = pace
        self._line = asyncio.Lock()
        self._next: Arrival | None = None
        self._taken = asyncio.Event()

    def empty(self) -> bool:
        return self._next is None and super().empty()

    def get_nowait(self) -> Arrival | None:
        if self._next is None:
            return super().get_nowait()
        taken, self._next = self._next, None
        self._taken.set()
        return taken

    async def get(self) -> Arrival | None:
        async with self._line:
            while True:
                first = await super().get()
                if first is None:
                    return None
                self._next = first
                self._taken.clear()
                await self._pace.turn(self._taken)
                if self._next is not None:
                    self._next = None
                    return first
