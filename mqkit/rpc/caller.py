"""Questions of an app: one call, one answer, one deadline; never asked twice.

Each exchange has a channel of its own: a broker closes the channel of a message to an exchange that
is not there or not allowed, and that is to end the calls of that mistake and no others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from mqkit.errors import Closed
from mqkit.message import Delivery, Message
from mqkit.rpc.answers import reply_decoder, value_of
from mqkit.rpc.channel_room import make_room
from mqkit.rpc.questions import no_answer, question_of
from mqkit.rpc.reply_channel import OpenChannel, ReplyChannel
from mqkit.timing.clock import SYSTEM_CLOCK, Clock, wall_ms


class Caller:
    """One for an app. ``describe`` says in words what state the client is in."""

    def __init__(
        self,
        open_channel: OpenChannel,
        describe: Callable[[], str],
        *,
        max_message_bytes: int,
        clock: Clock = SYSTEM_CLOCK,
        now_ms: Callable[[], int] = wall_ms,
    ) -> None:
        self._open_channel = open_channel
        self._describe = describe
        self._max_message_bytes = max_message_bytes
        self._clock = clock
        self._now_ms = now_ms
        self._channels: dict[str, ReplyChannel] = {}
        self._opening = asyncio.Lock()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False

    async def call(self, message: Message, reply: Any, deadline_s: float) -> Any:
        """Ask ``message``, and return its answer as a ``reply``.

        Raises :exc:`~mqkit.errors.RemoteError` for what the handler raised,
        :exc:`~mqkit.errors.DeadlineExceeded` after ``deadline_s`` seconds,
        :exc:`~mqkit.errors.CallRejected` where the broker refuses the question,
        :exc:`~mqkit.errors.ConnectionLost` when the connection goes (the handler may have run, or
        may run still), :exc:`~mqkit.errors.Closed`, and :exc:`~mqkit.incoming.BodyMisfit` for an
        answer of another type; :exc:`~mqkit.errors.ConfigurationError` for a ``reply`` that can't
        be made from JSON.
        """
        decode = reply_decoder(reply)
        until_ms = self._now_ms() + int(deadline_s * 1000)
        question = question_of(message, until_ms, self._max_message_bytes)
        self._under_way += 1
        self._idle.clear()
        try:
            async with self._clock.timeout(deadline_s):
                answer = await self._ask(question)
        except TimeoutError:
            raise no_answer(message, deadline_s, self._describe()) from None
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()
        return value_of(answer, decode)

    async def drain(self) -> None:
        """Return when every call under way has ended."""
        await self._idle.wait()

    async def close(self) -> None:
        """Close the channels; calls under way raise :exc:`~mqkit.errors.Closed`. Idempotent."""
        self._is_closed = True
        channels, self._channels = list(self._channels.values()), {}
        for channel in channels:
            await channel.close()

    async def _ask(self, question: Message) -> Delivery:
        channel = self._channels.get(question.exchange)
        if channel is None or not channel.is_open:
            channel = await self._channel(question.exchange)
        answer = channel.ask(question)
        try:
            return await answer
        finally:
            channel.forget(question)
            if answer.done() and not answer.cancelled():
                answer.exception()  # seen, also where the deadline came at the same moment

    async def _channel(self, exchange: str) -> ReplyChannel:
        async with self._opening:
            channel = self._channels.get(exchange)
            if channel is not None and channel.is_open:
                return channel
            unneeded = make_room(self._channels)
            if unneeded is not None:
                await unneeded.close()
            channel = await ReplyChannel.open(self._open_channel)
            if self._is_closed:
                await channel.close()
                raise Closed("the client is closed")
            self._channels[exchange] = channel
            return channel
