"""A publisher with middleware around each publish.

The messages of a batch go through the middleware all at once, and what comes out is published as
one batch, in order: nothing of it is sent before the last message has come through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Protocol

from mqkit.message import Message
from mqkit.middleware.around import PublishMiddleware, PublishNext
from mqkit.outcome import Outcome
from mqkit.pool import Fill, WhenBlocked
from mqkit.publishing.checked_outcome import checked_outcome


class Publishes(Protocol):
    """A publisher: see :class:`mqkit.pool.publisher.Publisher`."""

    def publish(
        self,
        message: Message,
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
        fill: Fill | None = None,
    ) -> Awaitable[Outcome]: ...

    def publish_batch(
        self,
        messages: Sequence[Message],
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> Awaitable[list[Outcome]]: ...


class SurroundedPublisher:
    """Takes the place of ``publisher``. A deadline begins when the innermost publish does."""

    def __init__(self, publisher: Publishes, around: Sequence[PublishMiddleware]) -> None:
        self._publisher = publisher
        self._around = tuple(around)

    async def publish(
        self,
        message: Message,
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
        fill: Fill | None = None,
    ) -> Outcome:
        """As the publisher's; middleware sees the message with its body, so it is made at once."""
        innermost = partial(
            self._publisher.publish, deadline_s=deadline_s, resend=resend, on_blocked=on_blocked
        )
        return await self._through(innermost, message if fill is None else fill(message))

    async def publish_batch(
        self,
        messages: Sequence[Message],
        deadline_s: float | None = None,
        resend: bool = True,
        on_blocked: WhenBlocked | None = None,
    ) -> list[Outcome]:
        """As the publisher's. If a middleware raises before all messages are through, nothing is
        published."""
        terms = {"deadline_s": deadline_s, "resend": resend, "on_blocked": on_blocked}
        again = partial(self._publisher.publish, **terms)  # type: ignore[arg-type]
        places = [_Place(again) for _ in messages]
        try:
            async with asyncio.TaskGroup() as tasks:
                running = []
                for place, message in zip(places, messages, strict=True):
                    task = tasks.create_task(self._through(place.publish, message))
                    task.add_done_callback(place.passed)
                    running.append(task)
                for place in places:
                    await place.arrived.wait()
                waiting = [place for place in places if place.message is not None]
                outcomes = await self._publisher.publish_batch(
                    [place.message for place in waiting if place.message is not None],
                    deadline_s=deadline_s,
                    resend=resend,
                    on_blocked=on_blocked,
                )
                for place, outcome in zip(waiting, outcomes, strict=True):
                    place.settle(outcome)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        return [task.result() for task in running]

    async def _through(self, publish: PublishNext, message: Message) -> Outcome:
        for middleware in reversed(self._around):
            publish = _Step(middleware, publish)
        return await publish(message)


class _Step:
    """A middleware, with what it publishes by."""

    __slots__ = ("_middleware", "_publish")

    def __init__(self, middleware: PublishMiddleware, publish: PublishNext) -> None:
        self._middleware = middleware
        self._publish = publish

    async def __call__(self, message: Message) -> Outcome:
        outcome = await self._middleware(message, self._publish)
        return checked_outcome(self._middleware, outcome, "return await publish(message)")


class _Place:
    """The place of one message in a batch: where its middleware publishes it."""

    def __init__(self, again: PublishNext) -> None:
        self._again = again
        self._outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.message: Message | None = None
        self.arrived = asyncio.Event()

    async def publish(self, message: Message) -> Outcome:
        """Publish with the batch; a second time, by itself."""
        if self.arrived.is_set():
            return await self._again(message)
        self.message = message
        self.arrived.set()
        return await self._outcome

    def settle(self, outcome: Outcome) -> None:
        """The batch is published."""
        if not self._outcome.done():
            self._outcome.set_result(outcome)

    def passed(self, _: asyncio.Task[Outcome]) -> None:
        """The middleware has ended, perhaps without having published."""
        self.arrived.set()
