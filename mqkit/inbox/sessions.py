"""A session around a handler, of either kind of SQLAlchemy's.

Work is a function of a plain :class:`sqlalchemy.orm.Session`: an async session runs it beside the
event loop's other tasks, a plain one in a worker thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import anyio.to_thread
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from mqkit.errors import ConfigurationError
from mqkit.inbox.tables import InboxRow
from mqkit.retry.signals import Unavailable

_LOG = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")
AnySession: TypeAlias = Session | AsyncSession
Work: TypeAlias = Callable[[Session], ResultT]


async def run_in(session: AnySession, work: Work[ResultT]) -> ResultT:
    """Do ``work`` in the session's transaction."""
    if isinstance(session, AsyncSession):
        return await session.run_sync(work)
    return await anyio.to_thread.run_sync(work, session)


@asynccontextmanager
async def transaction(make: Callable[[], AnySession]) -> AsyncIterator[AnySession]:
    """A session for the time of the block: committed at its end, rolled back if it raises.

    Raises :exc:`~mqkit.Unavailable` where the database is gone, in the block or at the commit: that
    says nothing about the message, and after a commit whose answer is lost its key will tell.
    """
    session = make()
    is_left = False
    try:
        begun = _transaction_of(session)
        yield session
        if _transaction_of(session) is not begun:
            raise ConfigurationError(
                "the handler has ended the transaction of its inbox: commit and rollback are the"
                " inbox's (session.begin_nested() makes a savepoint)"
            )
        await run_in(session, _finish)
        await at_the_database(_maybe_in_thread(session, session.commit))
    except DBAPIError as error:
        if error.connection_invalidated:
            raise gone(error) from error
        raise
    except asyncio.CancelledError:
        # The thread of a plain function goes on with the session, and nobody commits it.
        is_left = isinstance(session, Session)
        raise
    finally:
        if not is_left:
            await _close(session)


async def at_the_database(step: Awaitable[ResultT]) -> ResultT:
    """The result of a step that is the inbox's own. Raises :exc:`~mqkit.Unavailable` if it fails,
    which is no fault of the message's: but for a deferred constraint, which is told at the
    commit."""
    try:
        return await step
    except IntegrityError:
        raise
    except Exception as error:  # drivers have errors of their own while a server starts
        raise gone(error) from error


def gone(error: Exception) -> Unavailable:
    """The database can't be used. Its own first line: the rest is a statement with contents."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return Unavailable(f"the database of the inbox: {lines[0] if lines else type(error).__name__}")


def _finish(session: Session) -> None:
    """Write what the handler has left in the session; an error of it is the handler's.

    PostgreSQL answers the commit of a transaction in which a statement has failed with a rollback,
    and without an error: a handler that has swallowed that one would have its message acked, and
    nothing written. Such a transaction refuses every other statement, so one is made.
    """
    session.flush()
    if session.get_bind(InboxRow).dialect.name == "postgresql":
        session.execute(text("SELECT 1"))


def _transaction_of(session: AnySession) -> object:
    plain = session.sync_session if isinstance(session, AsyncSession) else session
    return plain.get_transaction() or plain.begin()


async def _maybe_in_thread(session: AnySession, call: Callable[[], Any]) -> None:
    if isinstance(session, AsyncSession):
        await call()
    else:
        await anyio.to_thread.run_sync(call)


async def _close(session: AnySession) -> None:
    """Roll back what is not committed. Shielded: who is cancelled must not leave it open."""
    with anyio.CancelScope(shield=True):
        try:
            await _maybe_in_thread(session, session.close)
        except Exception as error:  # noqa: BLE001 - drivers have errors of their own
            # The connection is gone, and its transaction with it.
            _LOG.info("inbox: a session did not close: %s", type(error).__name__)
