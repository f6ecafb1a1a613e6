"""A lane: one borrowed channel, the messages that queue for it, and a bounded window in flight.

Concurrent publishers meet here: whatever has queued up while the last piece was being written goes
out together with the next. A lane keeps the order of what it is given, but for what is published
again after a failure.

What a channel left in doubt is published again on the next one, in its old order, before anything
new, unless its caller would rather lose it than have it twice. If it was the broker who closed the
channel, one of them may be the reason: they go one by one then, each with nothing else in flight,
so that the guilty one is found and rejected and the others get through.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Protocol

from mqkit.errors import ChannelError, Closed, MqkitError
from mqkit.message import Message
from mqkit.outcome import Outcome, Unknown
from mqkit.pool.backlog import Backlog
from mqkit.pool.channel_pool import ChannelPool
from mqkit.pool.job import Job
from mqkit.pool.run_writer import run_writer
from mqkit.pool.single import Single
from mqkit.timing.backoff import Backoff
from mqkit.timing.clock import Clock
from mqkit.transport.seam import Channel, PublishesRuns

WRITE_BYTES_MAX = 8 * 1024 * 1024
"""Bodies handed to a channel in one go: encoding copies them, so this bounds the copies."""

RETRY_FIRST_S = 0.05
RETRY_MAX_S = 5.0


class Gate(Protocol):
    """The supervisor, as the one that knows whether publishing makes sense now."""

    async def wait_writable(self) -> None:
        """Return when it does. Raises when it never will again."""
        ...

    @property
    def is_writable(self) -> bool:
        """True if :meth:`wait_writable` would return at once."""
        ...

    @property
    def blocked(self) -> str | None:
        """The broker's reason while it blocks publishers, else ``None``."""
        ...

    def on_blocked(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call ``callback`` with the reason each time that the broker begins to block, until the
        returned function is called."""
        ...

    def describe(self) -> str:
        """The thing that publishing waits for, in words."""
        ...


class _Held:
    """The lane's channel of the moment, and why it closed."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.write = run_writer(channel)
        self.direct = channel if isinstance(channel, PublishesRuns) else None
        """The channel, if it can write one message at once."""
        self.refused = False


class Lane:
    """Run :meth:`run` in a task; feed it with :meth:`put`."""

    def __init__(
        self, pool: ChannelPool, gate: Gate, backlog: Backlog, *, window: int, clock: Clock
    ) -> None:
        self._pool = pool
        self._gate = gate
        self._backlog = backlog
        """Has the octets of ``_queue`` and ``_again``."""
        self._window = window
        self._clock = clock
        self._backoff = Backoff(RETRY_FIRST_S, RETRY_MAX_S)
        self._queue: deque[Job] = deque()
        """Never written yet."""
        self._again: deque[Job] = deque()
        self.load = 0
        """The number of messages queued or in flight."""
        self._in_flight = 0
        self._solo = False
        self._held: _Held | None = None
        self._run_length = 0
        """The number of messages that were written together last."""
        self._wake = asyncio.Event()
        self._failure: BaseException | None = None

    def put_single(self, single: Single, octets: int, *, alone: bool) -> None:
        """Publish one message, of so many octets, after what is queued. It hears of its outcome.

        ``alone``: no other call is under way. Then the message is written here and now, where
        :meth:`run` could do nothing else with it, and need not be woken: that costs more than to
        write. Not if several were written together last: such callers come together again, and one
        write for all of them is one sync of the broker's.
        """
        held = self._held
        if (
            alone
            and self._run_length == 1
            and not self._in_flight  # by callers that have given up
            and held is not None
            and held.direct is not None
            and held.direct.can_publish_now
            and self._gate.is_writable
        ):
            self.load += 1
            self._in_flight += 1
            single.written = True
            held.direct.publish_now(single.message, partial(self._settled, held, (single,)))
        else:
            self._queue.append(single)
            self._queued(1, octets)

    def put(self, jobs: Sequence[Job], octets: int) -> None:
        """Publish these, of so many octets together, after what is queued. Each job hears of its
        outcomes."""
        self._queue.extend(jobs)
        self._queued(sum(job.count for job in jobs), octets)

    def _queued(self, count: int, octets: int) -> None:
        """So much is new in the queue."""
        self.load += count
        self._backlog.room -= octets
        if self._failure is not None:
            self._fail_queued(self._failure)
        self._wake.set()

    def refuse(self, reason: str) -> None:
        """The broker blocks, for this reason: calls that don't want to wait for it end here, as far
        as they were not written."""
        kept: deque[Job] = deque()
        for job in self._queue:
            if job.terms.fails_when_blocked:
                self._drop(job)
                job.refuse(reason)
            else:
                kept.append(job)
        self._queue = kept

    async def run(self) -> None:
        """Publish what is put, until cancelled or until the client is closed for good."""
        try:
            while True:
                while not self._has_work():
                    await self._sleep()
                await self._gate.wait_writable()
                await self._work()
        except Exception as error:  # noqa: BLE001 - whatever it is, callers must not wait for ever
            self._failure = error
            self._fail_queued(error)

    async def _work(self) -> None:
        """Borrow a channel and use it while it lasts."""
        try:
            async with self._pool.borrow() as channel:
                self._backoff.reset()
                await self._pump(channel)
        except Closed:
            raise
        except MqkitError:
            await self._clock.sleep(self._backoff.next_s())

    async def _pump(self, channel: Channel) -> None:
        held = self._held = _Held(channel)
        channel.on_closed(partial(self._channel_closed, held))
        try:
            while channel.is_open:
                await self._gate.wait_writable()
                jobs = self._take()
                if jobs:
                    await self._write(held, jobs)
                elif channel.is_open:
                    await self._sleep()
        finally:
            self._held = None

    def _take(self) -> list[Job]:
        """Jobs to write now, in one go, within the window and the bound on bytes: jobs of one
        message each, or one of several."""
        jobs: list[Job] = []
        octets = 0
        room = 0 if self._solo else self._window - self._in_flight
        while len(jobs) < room and octets < WRITE_BYTES_MAX:
            source = self._again or self._queue
            if not source:
                break
            job = source[0]
            if job.done.done():
                self._drop(source.popleft())
                continue
            if job.alone:
                if jobs or self._in_flight:
                    break
                self._solo, room = True, 1
            if job.count > 1:
                if not jobs:
                    jobs = [self._take_part(source, room)]
                    octets = jobs[0].octets
                break
            source.popleft()
            octets += job.octets
            jobs.append(job)
        self._backlog.take(octets)
        return jobs

    def _take_part(self, source: deque[Job], room: int) -> Job:
        """As much of the first job as there is room for."""
        job = source[0]
        if job.count <= room:
            return source.popleft()
        source[0] = job.part(room, job.count)
        return job.part(0, room)

    async def _write(self, held: _Held, jobs: list[Job]) -> None:
        messages: list[Message] = []
        for job in jobs:
            messages += job.to_write()
        self._run_length = len(messages)
        self._in_flight += len(messages)
        await held.write(messages, partial(self._settled, held, jobs))

    def _settled(
        self, held: _Held, jobs: Sequence[Job], position: int, outcomes: Sequence[Outcome]
    ) -> None:
        """``outcomes`` are those of the messages of ``jobs`` from ``position`` on."""
        self._in_flight -= len(outcomes)
        self._solo = False
        settle = self._settle if all(outcomes) else partial(self._settle_doubtful, held)
        if len(jobs) == 1:
            settle(jobs[0], position, outcomes)
        else:
            written = jobs[position : position + len(outcomes)]
            for job, outcome in zip(written, outcomes, strict=True):
                settle(job, 0, (outcome,))
        if self._has_work():
            self._wake.set()

    def _settle(self, job: Job, position: int, outcomes: Sequence[Outcome]) -> None:
        self.load -= len(outcomes)
        job.settle(position, outcomes)

    def _settle_doubtful(
        self, held: _Held, job: Job, position: int, outcomes: Sequence[Outcome]
    ) -> None:
        """Publish again what is in doubt, as long as somebody waits for it, and wants that. What
        was not sent is in no doubt."""
        goes_again = _is_unknown if job.terms.resend else _is_unsent
        for again, group in groupby(outcomes, goes_again):
            alike = list(group)
            stop = position + len(alike)
            if not again or job.done.done():
                self._settle(job, position, alike)
            else:
                self._put_again(job.part(position, stop), alone=held.refused)
            position = stop

    def _put_again(self, job: Job, *, alone: bool) -> None:
        self._backlog.room -= job.octets
        if alone:
            self._again.extend(_each_alone(job))
        else:
            job.alone = False
            self._again.append(job)

    def _channel_closed(self, held: _Held, error: MqkitError | None) -> None:
        held.refused = isinstance(error, ChannelError)
        self._wake.set()

    def _has_work(self) -> bool:
        return bool(self._queue or self._again)

    async def _sleep(self) -> None:
        self._wake.clear()
        await self._wake.wait()

    def _fail_queued(self, error: BaseException) -> None:
        for queue in (self._again, self._queue):
            while queue:
                job = queue.popleft()
                self._drop(job)
                job.fail(error)

    def _drop(self, job: Job) -> None:
        """It was taken out of a queue, and is not going to be written."""
        self.load -= job.count
        self._backlog.take(job.octets)


def _is_unknown(outcome: Outcome) -> bool:
    return isinstance(outcome, Unknown)


def _is_unsent(outcome: Outcome) -> bool:
    return isinstance(outcome, Unknown) and not outcome.sent


def _each_alone(job: Job) -> Iterator[Job]:
    for position in range(job.count):
        each = job.part(position, position + 1)
        each.alone = True
        yield each
