"""The relay: publishes what the outbox has, in turns, until it is cancelled.

    app.run(outbox.Relay(app, engine))          # beside an app, until it ends
    async with app, outbox.Relay(app, engine):  # beside anything else
    await relay.once()                          # what waits now, from cron

A pass is a turn at some partitions, a window of their rows, the messages of these, and the outcomes
written down. What is woken by a notification is found by the poll, too: a notification can be lost.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

import anyio
from sqlalchemy import Connection, inspect

from mqkit.beside import beside_the_block
from mqkit.errors import Closed, ConfigurationError
from mqkit.outbox.database import AnyEngine, Database
from mqkit.outbox.listening import can_listen, listen
from mqkit.outbox.marking import After, Marked, mark
from mqkit.outbox.resting import Resting
from mqkit.outbox.sending import send_rows
from mqkit.outbox.tables import OutboxRow, SentRow
from mqkit.outbox.turns import turns_of
from mqkit.outbox.window import OCTETS_MAX, ROWS_MAX, Window, read_window
from mqkit.supervision.states import State
from mqkit.timing.backoff import Backoff
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.timing.seconds import Span, seconds
from mqkit.timing.token_bucket import TokenBucket

if TYPE_CHECKING:
    from mqkit.app import App

POLL_S = 1.0
DEADLINE_S = 10.0
"""For each message. A turn on PostgreSQL is a transaction, which should not stay open for long."""
RECONNECT_FIRST_S, RECONNECT_MAX_S = 0.2, 10.0
REPORTS_AT_FIRST, REPORT_EVERY_S = 5, 10.0
"""Lines about messages that were not confirmed: the first ones, then one each ten seconds."""
_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class RelayReport:
    """Counts since the relay was made: messages that were confirmed; rows that were stopped; and
    publishes that came to nothing, and are made again."""

    sent: int = 0
    stopped: int = 0
    unsettled: int = 0


class Relay:
    """Publishes the rows of ``engine``'s outbox through ``app``, which has to be entered.

    ``after`` says what becomes of a row whose message is confirmed: "delete", "keep" in the table
    as ``sent``, "move" to ``mqkit_outbox_sent``. ``poll`` is the longest that a row waits for its
    relay where no notification comes. ``deadline`` is for each message; one that is not confirmed
    by then is published again later. At most ``rows_max`` rows, and ``octets_max`` octets of
    bodies, are in memory.

    Have as many relays as you like: on PostgreSQL they share the keys, on SQLite one works and the
    others wait for its end. Raises :exc:`~mqkit.errors.ConfigurationError` for another database.
    """

    def __init__(
        self,
        app: App,
        engine: AnyEngine,
        *,
        after: Literal["delete", "keep", "move"] = "delete",
        poll: Span = POLL_S,
        deadline: Span = DEADLINE_S,
        rows_max: int = ROWS_MAX,
        octets_max: int = OCTETS_MAX,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._app = app
        self._database = Database(engine)
        self._after = After.of(after)
        self._poll_s = seconds(poll, "poll")
        self._deadline_s = seconds(deadline, "deadline")
        self._read = partial(read_window, rows_max=rows_max, octets_max=octets_max)
        self._clock = clock
        self._turns = turns_of(self._database)
        self._resting = Resting()
        self._woken = asyncio.Event()
        self._reports = TokenBucket(REPORTS_AT_FIRST, REPORT_EVERY_S, clock)
        self._block: AbstractAsyncContextManager[None] | None = None
        self.totals = RelayReport()

    async def __call__(self) -> None:
        """Run until the task is cancelled; a pass that is begun is ended first. Waits for a
        database, and for a broker, that is away.

        Raises :exc:`~mqkit.errors.ConfigurationError` where the database has no outbox.
        """
        backoff = Backoff(RECONNECT_FIRST_S, RECONNECT_MAX_S)
        is_checked = False
        try:
            async with anyio.create_task_group() as tasks:
                if can_listen(self._database.engine):
                    tasks.start_soon(self._listen)
                while True:
                    self._woken.clear()
                    try:
                        if not is_checked:
                            await self._database.run(self._check_tables)
                            is_checked = True
                        worked = await self._pass()
                    except (ConfigurationError, Closed):
                        raise
                    except Exception as error:  # noqa: BLE001 - drivers have errors of their own
                        _LOG.warning("outbox: the database: %s", _line(error))
                        await self._clock.sleep(backoff.next_s())
                        continue
                    backoff.reset()
                    if not worked:
                        await self._idle()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            self._turns.close()

    async def once(self) -> RelayReport:
        """Publish what waits, until a pass finds nothing that it can publish. The counts of it.

        Raises :exc:`~mqkit.errors.ConfigurationError` where the database has no outbox, and what
        SQLAlchemy or the driver does where it can't be reached.
        """
        before = RelayReport(self.totals.sent, self.totals.stopped, self.totals.unsettled)
        try:
            await self._app.wait_ready()
            await self._database.run(self._check_tables)
            while await self._pass():
                pass
        finally:
            self._turns.close()
        return RelayReport(
            self.totals.sent - before.sent,
            self.totals.stopped - before.stopped,
            self.totals.unsettled - before.unsettled,
        )

    async def __aenter__(self) -> Self:
        if self._block is not None:
            raise ConfigurationError("the relay is running already")
        self._block = beside_the_block([self.__call__])
        await self._block.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        block, self._block = self._block, None
        assert block is not None
        return await block.__aexit__(kind, error, trace)

    # -- a pass ------------------------------------------------------------------------------

    async def _pass(self) -> bool:
        """One turn, which is not cancelled in its middle: what is published and not written down
        would be published again. True if there was something to do."""
        turn = asyncio.create_task(self._turn())
        try:
            return await asyncio.shield(turn)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await asyncio.wait([turn])
            raise

    async def _turn(self) -> bool:
        if self._app.state is not State.READY:
            return False
        now_s = self._clock.monotonic_s()
        async with self._turns.turn(self._resting.at(now_s)) as turn:
            if not turn.partitions:
                return False
            window: Window = await turn.run(partial(self._read, turn.partitions))
            outcomes = await send_rows(self._app, window.rows, self._deadline_s)
            marked = await turn.run(
                partial(mark, window.rows, outcomes, self._after, datetime.now(UTC))
            )
        self._resting.after(turn.partitions, marked.resting, self._clock.monotonic_s())
        self._count(marked)
        return not window.is_empty

    def _count(self, marked: Marked) -> None:
        self.totals.sent += marked.sent
        self.totals.stopped += marked.stopped
        self.totals.unsettled += marked.unsettled
        if marked.reasons and self._reports.take():
            more = f" (and {len(marked.reasons) - 1} more)" if len(marked.reasons) > 1 else ""
            _LOG.warning("outbox: not confirmed: %s%s", marked.reasons[0], more)

    async def _idle(self) -> None:
        """Wait for a notification, for the poll, or for a partition that has rested."""
        soonest_s = self._resting.soonest_s(self._clock.monotonic_s())
        wait_s = self._poll_s if soonest_s is None else min(self._poll_s, soonest_s)
        try:
            async with self._clock.timeout(wait_s):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _listen(self) -> None:
        backoff = Backoff(RECONNECT_FIRST_S, RECONNECT_MAX_S)

        def told() -> None:
            backoff.reset()
            self._woken.set()

        while True:
            try:
                await listen(self._database.engine, told)
            except Exception as error:  # noqa: BLE001 - drivers have errors of their own
                _LOG.info("outbox: not told of commits, and polling alone: %s", _line(error))
            await self._clock.sleep(backoff.next_s())

    def _check_tables(self, connection: Connection) -> None:
        wanted = [OutboxRow.__tablename__]
        if self._after is After.MOVE:
            wanted.append(SentRow.__tablename__)
        inspector = inspect(connection)
        for name in wanted:
            if not inspector.has_table(name):
                raise ConfigurationError(
                    f"the database has no table {name}: create it by Alembic, with"
                    " mqkit.outbox.metadata among target_metadata, or by"
                    " mqkit.outbox.metadata.create_all(engine)"
                )


def _line(error: Exception) -> str:
    """The first line of an error: SQLAlchemy's go on with statement and parameters, which are other
    people's contents."""
    text = str(getattr(error, "orig", None) or error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:300]
