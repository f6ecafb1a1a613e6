"""One look through a lot: what is due goes back or into the archive, the rest stays in its place.

    get, get, get ...  ->  back:     lock?  publish in order  ->  every confirm  ->  ack
         |             ->  archive:  lock?  add to the file   ->  sync           ->  ack
         +-- not due: held unacked, requeued at the end

What is held stays unacked until the end: a requeued message goes back to its place, and the next
get would bring it again. Between the lines above a kill may come: what was published or synced and
not acked is there twice, which is one window at most.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

import anyio

from mqkit.declaration import Queue
from mqkit.errors import DeadlineExceeded, MqkitError
from mqkit.lots.clock.archiving import Archive, ArchiveFile
from mqkit.lots.clock.delivery_limit import is_near_limit
from mqkit.lots.clock.due import Action
from mqkit.lots.clock.events import EventKind, LotEvent, OnEvent
from mqkit.lots.clock.leader import Lock
from mqkit.lots.clock.looked import Looked
from mqkit.lots.clock.step import STEP_S, step
from mqkit.lots.clock.window import Now, Read, Window, ids_of
from mqkit.lots.publishing import PublishOver, publish_over
from mqkit.lots.replay.edits import Unfit
from mqkit.lots.replay.outgoing import going_back
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome
from mqkit.retry.parked import ParkedMessage
from mqkit.timing.clock import Clock
from mqkit.topology.lot_model import LotModel
from mqkit.transport.seam import Channel

HELD_MAX = 10_000
"""Messages that are not due and held for the length of a look, unacked at the broker."""


@dataclass(slots=True)
class Link:
    """The parts of one connection that a look works with. ``unblocked`` is set while the broker
    takes publishes (``connection.blocked``)."""

    lock: Lock
    source: Channel
    out: Channel
    unblocked: asyncio.Event
    publish_over: PublishOver = publish_over


class Look:
    """A look through ``lot``. Run it once."""

    def __init__(
        self,
        lot: LotModel,
        link: Link,
        archive: Archive | None,
        on_event: OnEvent,
        clock: Clock,
        now: Now,
        read: Read,
        *,
        counts_looks: bool,
    ) -> None:
        self._lot = lot
        self._link = link
        self._archive = archive
        self._on_event = on_event
        self._clock = clock
        self._now = now
        self._read_as = read
        self._counts_looks = counts_looks
        self._file: ArchiveFile | None = None
        self._held_tag = 0
        self._ending = anyio.CancelScope(shield=True)

    async def run(self, total: int) -> Looked:
        """Look at the ``total`` messages that lie there now, and no further: what comes meanwhile
        is not due.

        Raises :exc:`~mqkit.errors.TransportError` when the connection is gone,
        :exc:`~mqkit.errors.DeadlineExceeded` when it is as good as that, and
        :exc:`~mqkit.errors.ChannelError` for what the broker refuses.
        """
        looked = Looked(total)
        async with AsyncExitStack() as files:
            while looked.is_led and looked.left < HELD_MAX and looked.seen < total:
                window = await self._read(looked)
                if not window.messages:
                    looked.total = looked.seen
                    break
                if window.back:
                    await self._link.unblocked.wait()
                # A window that is begun is ended: SIGTERM must not leave it there twice.
                with anyio.CancelScope(shield=True) as self._ending:
                    await self._settle(window, looked, files)
                if looked.delivery_limit:
                    break
            try:
                await files.aclose()
            except (OSError, MqkitError) as error:
                looked.archive_fault = looked.archive_fault or _say_fault(error)
        if self._held_tag:
            async with step(self._clock, f"the requeue on {self._lot.name!r}"):
                await self._link.source.nack(self._held_tag, multiple=True, requeue=True)
        return looked

    async def _read(self, looked: Looked) -> Window:
        window = Window()
        while not window.is_full and looked.seen < looked.total:
            async with step(self._clock, f"a message of {self._lot.name!r}"):
                delivery = await self._link.source.get(self._lot.name)
            if delivery is None:
                break
            looked.seen += 1
            decided, is_undated = window.take(
                self._lot, self._read_as(delivery, self._lot.name), self._now()
            )
            looked.undated += is_undated
            looked.note_due(decided.until)
            if decided.action is Action.LEAVE:
                self._held_tag = delivery.delivery_tag
            if self._counts_looks and is_near_limit(delivery.headers):
                looked.delivery_limit = True
                break
        return window

    async def _settle(self, window: Window, looked: Looked, files: AsyncExitStack) -> None:
        due = [*window.back, *window.archive]
        if due and not await self._leads():
            looked.is_led = False
            self._hold(due)
            return
        if window.back:
            await self._send(window.back, looked)
        if window.archive:
            await self._put_away(window.archive, looked, files)

    async def _leads(self) -> bool:
        async with step(self._clock, f"the lock of {self._lot.name!r}"):
            return await self._link.lock.take()

    async def _send(self, messages: list[ParkedMessage], looked: Looked) -> None:
        """Publish, wait, ack what was confirmed."""
        sendable: list[ParkedMessage] = []
        outgoing: list[Message] = []
        for message in messages:
            # Without a queue, or with the lot as its own, it would not leave.
            if message.queue in ("", self._lot.name):
                self._hold([message])
                why = f"{_name(message)} does not say which queue it failed on"
                looked.refused = looked.refused or why
                continue
            try:
                outgoing.append(going_back(message.delivery, message.queue))
            except Unfit as why_not:
                self._hold([message])
                looked.refused = looked.refused or f"{_name(message)}: {why_not}"
            else:
                sendable.append(message)
        if not self._link.out.is_open:  # closed by the broker for an earlier window
            self._hold(sendable)
            return
        self._tell(EventKind.SENDING, sendable)
        outcomes = await self._confirmed(await self._link.publish_over(self._link.out, outgoing))
        sent = []
        for message, outcome in zip(sendable, outcomes, strict=True):
            if isinstance(outcome, Confirmed):
                sent.append(message)
            else:
                self._hold([message])
                looked.refused = looked.refused or _say_outcome(message, outcome)
        await self._ack(sent)
        looked.returned += len(sent)
        self._tell(EventKind.RETURNED, sent)

    async def _confirmed(self, futures: list[asyncio.Future[Outcome]]) -> list[Outcome]:
        """A broker under an alarm does not answer before it is over, and that may take hours."""
        while True:
            try:
                async with self._clock.timeout(STEP_S):
                    return await asyncio.shield(asyncio.gather(*futures))
            except TimeoutError:
                if self._link.unblocked.is_set():
                    raise DeadlineExceeded(
                        f"waited {STEP_S:g} s for the confirms of {self._lot.name!r}"
                    ) from None
                self._ending.shield = False

    async def _put_away(
        self, messages: list[ParkedMessage], looked: Looked, files: AsyncExitStack
    ) -> None:
        """Add, sync, ack."""
        if looked.archive_fault or self._archive is None:
            self._hold(messages)
            return
        self._tell(EventKind.ARCHIVING, messages)
        try:
            if self._file is None:
                self._file = await files.enter_async_context(self._archive.run(self._lot.name))
            await self._file.add([message.delivery for message in messages])
            await self._file.sync()
        except (OSError, MqkitError) as error:
            looked.archive_fault = _say_fault(error)
            self._hold(messages)
            return
        await self._ack(messages)
        looked.archived += len(messages)
        self._tell(EventKind.ARCHIVED, messages)

    async def _ack(self, messages: list[ParkedMessage]) -> None:
        """Return when the broker has the acks. They have no answer of their own, and what is
        written when the process is killed may never arrive."""
        if not messages:
            return
        source = self._link.source
        async with step(self._clock, f"the acks on {self._lot.name!r}"):
            for message in messages:
                await source.ack(message.delivery.delivery_tag)
            await source.declare_queue(Queue(self._lot.name), passive=True)

    def _hold(self, messages: list[ParkedMessage]) -> None:
        for message in messages:
            self._held_tag = max(self._held_tag, message.delivery.delivery_tag)

    def _tell(self, kind: EventKind, messages: list[ParkedMessage]) -> None:
        if messages:
            event = LotEvent(kind, self._lot.name, self._now(), len(messages), ids_of(messages))
            self._on_event(event)


def _name(message: ParkedMessage) -> str:
    return f"message {message.message_id or '(no id)'}"


def _say_outcome(message: ParkedMessage, outcome: Outcome) -> str:
    detail = getattr(outcome, "detail", "") or str(getattr(outcome, "reason", "unknown"))
    return f"{_name(message)} was not confirmed by {message.queue!r}: {detail}"


def _say_fault(error: OSError | MqkitError) -> str:
    words = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
    return " ".join(words.split())
