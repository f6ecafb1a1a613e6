"""One lot, or one queue with an alert, tended over one connection: the lock, then look after look.

The broker's answers are waited for one after the other, so a lot that is long in its look delays no
other, and its own messages are never counted while it holds them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.lots.alerts.alert import Alert, AlertKind, Condition
from mqkit.lots.alerts.states import AlertBook
from mqkit.lots.clock.archiving import Archive
from mqkit.lots.clock.conditions import of_age, of_depth, of_look
from mqkit.lots.clock.delivery_limit import is_near_limit
from mqkit.lots.clock.events import EventKind, LotEvent, OnEvent
from mqkit.lots.clock.leader import Lock
from mqkit.lots.clock.look import Link, Look
from mqkit.lots.clock.looked import Looked
from mqkit.lots.clock.schedule import FAULT_S, pause_s
from mqkit.lots.clock.step import step
from mqkit.lots.clock.window import Now, Read
from mqkit.lots.parked_time import parked_since
from mqkit.lots.publishing import PublishOver, publish_over
from mqkit.timing.clock import Clock
from mqkit.topology.lot_model import LotModel
from mqkit.transport.seam import Channel, Connection

MEASURE_EVERY_S = 10.0
"""An alert is this late at most; a question for each queue with a limit."""
LOCK_EVERY_S = 5.0
"""A lot is without a leader for so long after one was lost; each try of a process that waits is a
line in RabbitMQ's log."""

MISSES = 2
"""A queue that a service declares as it starts may not be there at the first look at it."""
MISSED_AGAIN_S = 3.0

NOT_FOUND = 404
LEVELS = {EventKind.FAILED: logging.WARNING, EventKind.LOOKED: logging.DEBUG}
_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Setting:
    """The surroundings of all lots of one process."""

    on_event: OnEvent
    on_alert: Callable[[Alert], Awaitable[None]]
    clock: Clock
    now: Now
    read: Read
    lock_every_s: float = LOCK_EVERY_S
    misses: int = MISSES
    """A queue is missing when it was not there at so many looks in a row."""
    publish_over: PublishOver = publish_over


@dataclass(slots=True)
class Tended:
    """A lot, and what this process knows of it over all its connections."""

    lot: LotModel
    archive: Archive | None
    book: AlertBook
    is_waiting: bool = False
    misses: int = 0
    totals: Looked = field(default_factory=lambda: Looked(0))

    @property
    def is_moved(self) -> bool:
        """True if messages leave the lot by the clock."""
        return self.lot.replay is not None or self.lot.archive is not None


class Tending:
    """Tends one lot over ``connection`` until that is gone, or the task is cancelled."""

    def __init__(
        self,
        tended: Tended,
        connection: Connection,
        unblocked: asyncio.Event,
        setting: Setting,
        *,
        counts_looks: bool,
    ) -> None:
        self._tended = tended
        self._lot = tended.lot
        self._connection = connection
        self._unblocked = unblocked
        self._setting = setting
        self._counts_looks = counts_looks
        self._lock = Lock(connection, tended.lot.name)
        self._source: Channel | None = None
        self._out: Channel | None = None
        self._is_leading = False
        self._look_at_s = 0.0

    async def run(self) -> None:
        """Tend for ever. Raises as :meth:`turn`."""
        while True:
            await self._setting.clock.sleep(await self.turn())

    async def turn(self) -> float:
        """Do what is to be done now; returns the seconds until there may be more.

        Raises :exc:`~mqkit.errors.TransportError` when the connection is gone, and
        :exc:`~mqkit.errors.DeadlineExceeded` when it is as good as that. What the broker refuses is
        told, and tried again.
        """
        try:
            if not await self._leads():
                return self._setting.lock_every_s
            return await self._tend()
        except ChannelError as error:
            self._tell(EventKind.FAILED, reason=str(error))
            return FAULT_S

    async def _leads(self) -> bool:
        async with step(self._setting.clock, f"the lock of {self._lot.name!r}"):
            leads = await self._lock.take()
        if leads and not self._is_leading:
            self._tell(EventKind.LEADING)
        elif not leads and (self._is_leading or not self._tended.is_waiting):
            self._tell(EventKind.WAITING, reason="another process runs this lot")
        self._is_leading, self._tended.is_waiting = leads, not leads
        return leads

    async def _tend(self) -> float:
        depth = await self._depth()
        tended, setting = self._tended, self._setting
        tended.misses = tended.misses + 1 if depth is None else 0
        is_missing = tended.misses >= setting.misses
        missing = Condition(AlertKind.MISSING, is_missing, text="there is no such queue")
        await self._note([missing])
        if depth is None:
            return FAULT_S if is_missing else MISSED_AGAIN_S
        clock, alert = setting.clock, self._lot.alert
        await self._note(of_depth(alert, depth))
        if tended.book.is_raised(AlertKind.DELIVERY_LIMIT):
            return MEASURE_EVERY_S
        if alert is not None and alert.age_ms is not None:
            await self._measure_age(depth)
        if not tended.is_moved:
            return MEASURE_EVERY_S
        if clock.monotonic_s() >= self._look_at_s:
            began_s = clock.monotonic_s()
            looked = await self._look(depth)
            await self._note(of_look(looked))
            ended_s = clock.monotonic_s()
            pause = pause_s(self._lot, looked, setting.now(), ended_s - began_s)
            self._look_at_s = ended_s + pause
        until_look_s = self._look_at_s - clock.monotonic_s()
        return until_look_s if alert is None else min(until_look_s, MEASURE_EVERY_S)

    async def _depth(self) -> int | None:
        """The ready messages; ``None`` where there is no such queue."""
        channel = await self._open()
        async with step(self._setting.clock, f"the depth of {self._lot.name!r}"):
            try:
                state = await channel.declare_queue(Queue(self._lot.name), passive=True)
            except ChannelError as error:
                if error.reply_code != NOT_FOUND:
                    raise
                return None
        return state.message_count

    async def _measure_age(self, depth: int) -> None:
        """By a look at the head: it goes back to its place at once."""
        since: datetime | None = None
        if depth:
            channel = await self._open()
            async with step(self._setting.clock, f"the head of {self._lot.name!r}"):
                delivery = await channel.get(self._lot.name)
                if delivery is not None:
                    await channel.nack(delivery.delivery_tag, requeue=True)
                    since = parked_since(delivery.headers, self._setting.now())
                    if self._counts_looks and is_near_limit(delivery.headers):
                        await self._note(of_look(Looked(depth, delivery_limit=True)))
        await self._note(of_age(self._lot.alert, since, self._setting.now()))

    async def _look(self, depth: int) -> Looked:
        source = await self._open()
        if self._out is None or not self._out.is_open:
            async with step(self._setting.clock, "a channel"):
                self._out = await self._connection.channel(confirms=True)
        setting = self._setting
        look = Look(
            self._lot,
            Link(self._lock, source, self._out, self._unblocked, setting.publish_over),
            self._tended.archive,
            setting.on_event,
            setting.clock,
            setting.now,
            setting.read,
            counts_looks=self._counts_looks,
        )
        looked = await look.run(depth)
        counts = {
            "seen": looked.seen,
            "returned": looked.returned,
            "archived": looked.archived,
            "left": looked.left,
        }
        totals = self._tended.totals
        totals.seen += looked.seen
        totals.returned += looked.returned
        totals.archived += looked.archived
        self._tell(EventKind.LOOKED, counts=counts)
        for reason in (looked.refused, looked.archive_fault):
            if reason:
                self._tell(EventKind.FAILED, reason=reason)
        return looked

    async def _open(self) -> Channel:
        """The channel that the lot is read by."""
        if self._source is None or not self._source.is_open:
            async with step(self._setting.clock, "a channel"):
                self._source = await self._connection.channel()
        return self._source

    async def _note(self, conditions: Iterable[Condition]) -> None:
        for condition in conditions:
            alert = self._tended.book.note(condition, self._setting.now())
            if alert is not None:
                await self._setting.on_alert(alert)

    def _tell(
        self, kind: EventKind, *, reason: str = "", counts: dict[str, int] | None = None
    ) -> None:
        now = self._setting.now()
        event = LotEvent(kind, self._lot.name, now, reason=reason, counts=counts or {})
        _LOG.log(LEVELS.get(kind, logging.INFO), "lot %r: %s", self._lot.name, reason or kind)
        self._setting.on_event(event)
