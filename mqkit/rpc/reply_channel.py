"""A channel on which questions go out and their answers come back.

Both are on one channel, since that is the broker's rule for direct reply-to: the address that it
puts on a question belongs to the channel, and ends with it. So a question that is under way when
the channel ends is never answered, and fails at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from mqkit.errors import CallRejected, ChannelError, Closed, ConnectionLost, MqkitError
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome, Rejected, Unknown
from mqkit.rpc.headers import DIRECT_REPLY_TO
from mqkit.rpc.questions import lost_call
from mqkit.transport.seam import Channel

OpenChannel: TypeAlias = Callable[[], Awaitable[Channel]]
"""Opens a confirm channel on the publishing connection."""

WRITTEN_AT_ONCE = 64
"""Questions that are handed to the channel together."""


class ReplyChannel:
    """Make one with :meth:`open`. Questions may be asked by any number of tasks."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._answers: dict[str, asyncio.Future[Delivery]] = {}
        self._unwritten: list[Message] = []
        self._writing: asyncio.Task[None] | None = None
        self._end: MqkitError | None = None

    @classmethod
    async def open(cls, open_channel: OpenChannel) -> ReplyChannel:
        """Open a channel, and consume from it what the broker sends to its address.

        Raises what ``open_channel`` does, and what the broker refuses.
        """
        channel = await open_channel()
        opened = cls(channel)
        try:
            await channel.consume(DIRECT_REPLY_TO, opened._answered, no_ack=True)
        except BaseException:
            await channel.close()
            raise
        channel.on_closed(opened._closed)
        return opened

    @property
    def is_open(self) -> bool:
        """False once no question can be asked here any more."""
        return self._end is None and self._channel.is_open

    @property
    def is_idle(self) -> bool:
        """True when nobody waits for an answer here."""
        return not self._answers

    def ask(self, question: Message) -> asyncio.Future[Delivery]:
        """Send ``question``, whose correlation id no other has; the future gets its answer.

        It raises :exc:`~mqkit.errors.CallRejected` where the broker refuses the question, and
        :exc:`~mqkit.errors.ConnectionLost` when the channel ends first. Call :meth:`forget` when
        nobody waits for it any more.
        """
        correlation_id = question.properties.correlation_id
        assert correlation_id is not None
        answer: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()
        if self._end is not None:
            answer.set_exception(lost_call(self._end))
            return answer
        self._answers[correlation_id] = answer
        self._unwritten.append(question)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return answer

    def forget(self, question: Message) -> None:
        """Nobody waits for the answer any more. What is not written yet will not be."""
        self._answers.pop(question.properties.correlation_id or "", None)

    async def close(self) -> None:
        """Close the channel; questions under way raise :exc:`~mqkit.errors.Closed`. Idempotent."""
        if self._end is None:
            self._end = Closed("the client is closed")
        self._fail_all()
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        await self._channel.close()

    async def _write(self) -> None:
        try:
            while self._unwritten:
                some = self._unwritten[:WRITTEN_AT_ONCE]
                del self._unwritten[:WRITTEN_AT_ONCE]
                some = [each for each in some if each.properties.correlation_id in self._answers]
                for question, outcome in zip(
                    some, await self._channel.publish_many(some), strict=True
                ):
                    outcome.add_done_callback(partial(self._published, question))
        finally:
            self._writing = None

    def _published(self, question: Message, done: asyncio.Future[Outcome]) -> None:
        outcome = None if done.cancelled() else done.result()
        match outcome:
            case Rejected():
                self._fail(question.properties.correlation_id or "", CallRejected(outcome))
            case Unknown(detail):
                self._fail(question.properties.correlation_id or "", ConnectionLost(detail))

    def _answered(self, delivery: Delivery) -> None:
        answer = self._answers.get(delivery.properties.correlation_id or "")
        if answer is not None and not answer.done():
            answer.set_result(delivery)

    def _closed(self, error: MqkitError | None) -> None:
        if self._end is None:
            # Closed by this program, but not here: its twin was lost.
            self._end = error or ConnectionLost("the connection of this call is gone")
        if isinstance(error, ChannelError):
            # The question that it was closed for gets the broker's reason with its outcome, which
            # is set after this, and heard of a turn of the loop later.
            soon = asyncio.get_running_loop().call_soon
            soon(soon, self._fail_all)
        else:
            self._fail_all()

    def _fail_all(self) -> None:
        assert self._end is not None
        for correlation_id in list(self._answers):
            self._fail(correlation_id, lost_call(self._end))

    def _fail(self, correlation_id: str, error: MqkitError) -> None:
        answer = self._answers.get(correlation_id)
        if answer is not None and not answer.done():
            answer.set_exception(error)
