"""Declaring again what is missing, with the bindings that went with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.drift.event import Done, Drift, missing
from mqkit.drift.pace import QuestionPace
from mqkit.drift.watched import Hanging
from mqkit.errors import ChannelError
from mqkit.topology.throwaway import ThrowAwayChannel, is_missing


class Mender:
    """For one look, on its channel. ``declaring`` is held by whoever declares in this app: of two
    that find an object gone, one declares it, and tells."""

    def __init__(
        self,
        wanted: Sequence[Declaration],
        channel: ThrowAwayChannel,
        pace: QuestionPace,
        declaring: asyncio.Lock,
    ) -> None:
        self._hanging = Hanging(wanted)
        self._channel = channel
        self._pace = pace
        self._declaring = declaring

    async def declare(self, declaration: Exchange | Queue) -> Drift | None:
        """Declare what was missing a moment ago, and bind what hangs on it. Returns ``None`` if it
        is there again by somebody else."""
        async with self._declaring:
            await self._channel.ready()
            if not await is_missing(declaration, self._channel):
                return None
            try:
                await self._channel.declare(declaration)
            except ChannelError:
                return missing(declaration, Done.REFUSED)
        for binding in self._hanging.on(declaration):
            await self.bind(binding)
        return missing(declaration, Done.DECLARED)

    async def bind(self, binding: Binding) -> Drift:
        """Bind again, which does no harm where it is bound."""
        await self._pace.take()
        await self._channel.ready()
        try:
            await self._channel.declare(binding)
        except ChannelError:  # 404: an end of it is missing
            return missing(binding, Done.REFUSED)
        return missing(binding, Done.BOUND)
