"""A request's change as one input of the core, answered when the change is on disk.

async handler:   with inputs.begin(request) as broker: ...change...
                 await inputs.defined()
                 answer

Between the login and the input, a body may have taken its time to arrive, so who sent the request
is judged again within the input.

A message that is on disk only is waited for between two inputs: :meth:`CoreInputs.head_of`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus

from starlette.requests import Request

from reference_broker.core.broker import Broker
from reference_broker.core.connection.connection import Connection
from reference_broker.core.journal.watermark import Wait
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.task import Steps, raise_error
from reference_broker.http.request.answer import ApiError
from reference_broker.http.request.authorization import judge_again
from reference_broker.http.request.host import Host

DISK_TIMEOUT_S = 30.0
"""Seconds that an answer waits for the disk. A full disk may take hours; the client should know
before that, and its request must not be held for so long."""

END_TIMEOUT_S = 0.5
"""Seconds that the answer to a request that closed a connection waits for its client, which may
never answer. Most do so in a millisecond."""


def refuse_while_short(broker: Broker) -> None:
    """Refuse a request that writes messages, or moves them, while an alarm is on: an AMQP publisher
    is not read then; a request is told. Raises :exc:`ApiError` 503."""
    if broker.alarms.sounding:
        raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "resource_alarm", broker.alarms.reason)


class CoreInputs:
    """Makes a request's changes an input of the broker."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @contextmanager
    def begin(self, request: Request) -> Iterator[Broker]:
        """One input of the core. Nothing may be awaited inside. Raises :exc:`ApiError` 401 for a
        user who was deleted, or may no longer do this; then nothing is changed."""
        with self.go_on() as broker:
            judge_again(broker, request)
            yield broker

    @contextmanager
    def go_on(self) -> Iterator[Broker]:
        """One more input of a request that has begun, which has to be ended whatever became of its
        user."""
        broker = self._host.broker
        broker.begin(*self._host.now())
        try:
            yield broker
        finally:
            broker.finish()
            self._host.input_handled()

    def awaited(self) -> asyncio.Future[None]:
        """Something that the core will say is done, by :func:`settle`: await it after the input."""
        return asyncio.get_running_loop().create_future()

    async def perform(self, steps: Steps, vhost_name: str) -> None:
        """Take steps of the core, some in each turn of the loop, and return when they have ended.
        They go on if the client leaves. Raises what they raise."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(error: Exception | None) -> None:
            if ended.done():  # the request has left
                raise_error(error)
            elif error is None:
                ended.set_result(None)
            else:
                ended.set_exception(error)

        with self.go_on() as broker:
            broker.work.start(steps, vhost_name, done=done)
        await ended

    async def defined(self) -> None:
        """Wait until everything that was defined so far holds, so that the client may be told. Call
        it straight after the input, before anything else is awaited. Raises as :meth:`on_disk`."""
        await self._over(self._host.broker.definitions.wait())

    async def on_disk(self) -> None:
        """Wait until everything that was logged so far is on disk. Call it straight after the
        input, before anything else is awaited.

        Raises :exc:`ApiError`: 500 when the disk failed, 503 when it takes too long. What was done
        is not undone: it may or may not be found after a restart.
        """
        await self._over(Wait(self._host.broker.journal.tail))

    async def _over(self, wait: Wait) -> None:
        ledger = self._host.broker.ledger
        promise = _DiskPromise(asyncio.get_running_loop().create_future())
        ledger.promise(wait.position, promise, wait.marks)
        try:
            if not promise.done.done():
                self._host.input_handled()
                await asyncio.wait_for(promise.done, DISK_TIMEOUT_S)
        except TimeoutError:
            raise ApiError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "not_confirmed",
                f"not on disk after {DISK_TIMEOUT_S:g} s; it may have been done all the same",
            ) from None
        if not promise.done.result():
            raise ApiError(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "disk_failed",
                "the broker's disk failed; it may have been done all the same",
            )

    async def ended(self, connections: Sequence[Connection]) -> None:
        """Wait until these connections are closed, but no longer than :data:`END_TIMEOUT_S`. A
        request that closed them may then count on their clients to know, and sees them no more."""
        loop = asyncio.get_running_loop()
        ends: list[asyncio.Future[None]] = []
        for connection in connections:
            end = loop.create_future()
            self._host.broker.await_end(connection, partial(settle, end))
            ends.append(end)
        if ends:
            await asyncio.wait(ends, timeout=END_TIMEOUT_S)

    def head_of(self, queue: Queue) -> Awaitable[None]:
        """Wait for the head of ``queue`` to be read. Call it within an input in which
        :meth:`Queue.get` had to leave the head, and await it after: then the queue can be asked
        again.

        Raises :exc:`ApiError` 503 when it takes too long.
        """
        come: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.backlog.await_head(partial(settle, come))
        return self._in_time(come)

    async def _in_time(self, come: asyncio.Future[None]) -> None:
        try:
            await asyncio.wait_for(come, DISK_TIMEOUT_S)
        except TimeoutError:
            raise ApiError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "not_read",
                f"the next message was not read from disk in {DISK_TIMEOUT_S:g} s",
            ) from None


def settle(awaited: asyncio.Future[None]) -> None:
    if not awaited.done():  # the request may have left
        awaited.set_result(None)


class _DiskPromise:
    """A :class:`~reference_broker.core.channel.confirms.Promise` to a coroutine, which may have
    left."""

    __slots__ = ("done",)

    def __init__(self, done: asyncio.Future[bool]) -> None:
        self.done = done

    def kept(self) -> None:
        self._settle(True)

    def broken(self) -> None:
        self._settle(False)

    def _settle(self, kept: bool) -> None:
        if not self.done.done():
            self.done.set_result(kept)
