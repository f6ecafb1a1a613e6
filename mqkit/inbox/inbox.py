"""The inbox of a program: one for all its consumers whose handlers write to one database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Generic, Literal, TypeVar

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from mqkit.consumer.batches.batch_handler import BatchHandler
from mqkit.consumer.handler import Handler, MessageHandler
from mqkit.errors import ConfigurationError
from mqkit.inbox.cleaning import Cleaning, utc_now
from mqkit.inbox.counts import InboxCounts
from mqkit.inbox.handling import InboxBatchHandler, InboxHandler
from mqkit.inbox.retention import longest_way_ms
from mqkit.inbox.sessions import run_in, transaction
from mqkit.inbox.taking import dialect_of
from mqkit.retry.signals import Unavailable
from mqkit.timing.seconds import Span, seconds
from mqkit.topology.model import Topology

SessionT = TypeVar("SessionT", Session, AsyncSession)
_LOG = logging.getLogger(__name__)


class Inbox(Generic[SessionT]):
    """``sessions`` makes sessions: a ``sessionmaker`` for handlers that are plain functions, an
    ``async_sessionmaker`` for those that are ``async def``. Give its engine a pool with room for
    every handler that runs at once.

    Keys are kept for ``keep`` after their message was handled: longer than a duplicate can take to
    come, and old ones are deleted in slices as messages are handled. A message without idempotency
    key and message id is parked, or handled all the same with ``without_key="handle"``.

    Raises :exc:`~mqkit.errors.ConfigurationError` for options that make no sense.
    """

    def __init__(
        self,
        sessions: Callable[[], SessionT],
        *,
        keep: Span = "7d",
        without_key: Literal["park", "handle"] = "park",
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        if without_key not in ("park", "handle"):
            raise ConfigurationError(
                f'without_key={without_key!r}: expected one of "park", "handle"'
            )
        self.sessions: Callable[[], SessionT] = sessions
        self.parks_unkeyed = without_key == "park"
        self.now = now
        self.counts = InboxCounts()
        """Counters, over all consumers."""
        self._cleaning = Cleaning(timedelta(seconds=seconds(keep, "keep")), now)
        self._current: ContextVar[SessionT] = ContextVar("mqkit.inbox.session")
        self._one_at_a_time: asyncio.Lock | None = None
        self._is_checked = False

    async def session(self) -> SessionT:
        """The session of the call, whose transaction has the message's key: for
        ``mqkit.depends(inbox.session)``. It is the inbox that commits it.

        Raises :exc:`~mqkit.errors.ConfigurationError` outside of a consumer with this inbox.
        """
        try:
            return self._current.get()
        except LookupError:
            raise ConfigurationError(
                "inbox.session is for handlers of consumers with that inbox: register them with"
                " inbox=inbox"
            ) from None

    # -- what the app calls ------------------------------------------------------------------

    def around(
        self, handler: MessageHandler, queue: str, topology: Topology | None
    ) -> InboxHandler:
        """``handler`` with this inbox around it. Raises
        :exc:`~mqkit.errors.ConfigurationError` for a plain function with a timeout."""
        self._check(handler, queue, topology)
        return InboxHandler(handler, self, queue)

    def around_batch(
        self, handler: BatchHandler, queue: str, topology: Topology | None
    ) -> InboxBatchHandler:
        """As :meth:`around`, for a handler of batches."""
        self._check(handler, queue, topology)
        return InboxBatchHandler(handler, self, queue)

    # -- what its handlers call --------------------------------------------------------------

    @contextmanager
    def given(self, session: SessionT) -> Iterator[None]:
        """``session`` is that of the handler that is called in the block."""
        token = self._current.set(session)
        try:
            yield
        finally:
            self._current.reset(token)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """On SQLite, where one transaction writes at a time, the handlers of this inbox go one
        after the other, and do not run into the database's lock."""
        if not self._is_checked:
            session = self.sessions()
            plain = session.sync_session if isinstance(session, AsyncSession) else session
            self._one_at_a_time = asyncio.Lock() if dialect_of(plain) == "sqlite" else None
            self._is_checked = True
        if self._one_at_a_time is None:
            yield
        else:
            async with self._one_at_a_time:
                yield

    async def clean_if_due(self) -> None:
        """Delete a slice of old keys, once in a while. A failure is logged: the next one tries
        again, and the message is handled."""
        if not self._cleaning.take():
            return
        try:
            async with self.turn(), transaction(self.sessions) as session:
                self.counts.cleaned += await run_in(session, self._cleaning.clean)
        except Unavailable as error:
            _LOG.info("inbox: old keys stay for now: %s", error.reason)

    # -- its own -----------------------------------------------------------------------------

    def _check(self, handler: Handler, queue: str, topology: Topology | None) -> None:
        if handler.timeout_s is not None and not handler.is_async:
            raise ConfigurationError(
                f"the handler {handler.name} is a plain function with a timeout: its thread can't"
                " be stopped, and would go on in a transaction that is over; leave the timeout out,"
                " or make it an async def"
            )
        way_ms = 0 if topology is None else longest_way_ms(topology, queue)
        keep_s = self._cleaning.keep.total_seconds()
        if keep_s * 1000 < way_ms:
            _LOG.warning(
                "inbox: keys are kept for %g s, and a message of %s can take %g s through its tiers"
                " and lots: one that comes twice may be handled twice; give Inbox(keep=) more",
                keep_s,
                queue,
                way_ms / 1000,
            )
