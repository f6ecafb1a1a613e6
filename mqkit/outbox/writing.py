"""Writing to the outbox: a row in the transaction of a session, and a notification at its commit.

Nothing is sent here, and nothing is written before the session flushes: a rollback takes the
message along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Unpack

from sqlalchemy import Connection, event, text
from sqlalchemy.orm import Mapper

from mqkit.message import Message
from mqkit.outbox.dialect import POSTGRESQL
from mqkit.outbox.notification import NOTIFY
from mqkit.outbox.preparing import prepared
from mqkit.outbox.stored import columns_of
from mqkit.outbox.tables import OutboxRow
from mqkit.publishing.message_options import MessageOptions
from mqkit.publishing.outgoing import outgoing


class CanAdd(Protocol):
    """A ``Session``, an ``AsyncSession``, or one of their scoped registries."""

    def add(self, instance: object) -> None: ...


def publish(
    session: CanAdd,
    exchange: str,
    routing_key: str,
    body: object,
    *,
    message_id: str | None = None,
    headers: Mapping[str, Any] | None = None,
    ordering_key: str | None = None,
    **options: Unpack[MessageOptions],
) -> OutboxRow:
    """Have one message published if the session's transaction commits. Never awaited.

    ``exchange`` to ``options`` are as for :meth:`mqkit.App.publish`. Messages of one
    ``ordering_key`` are published one after the other, in the order of their rows; one without a
    key waits for no other. The message id and the idempotency key are kept however often the relay
    has to publish; the key is the message id unless it is given. Returns the row, which has its
    ``id`` when the session has flushed.

    Raises :exc:`~mqkit.errors.ConfigurationError` if no message can be made of the arguments.
    """
    message = outgoing(
        exchange, routing_key, body, message_id=message_id, headers=headers, **options
    )
    return send(session, message, ordering_key=ordering_key)


def send(session: CanAdd, message: Message, *, ordering_key: str | None = None) -> OutboxRow:
    """As :func:`publish`, for a message that is made already: of :meth:`mqkit.App.message`, of a
    target's, of :meth:`mqkit.App.delayed`."""
    row = OutboxRow(**columns_of(prepared(message), ordering_key))
    session.add(row)
    return row


@event.listens_for(OutboxRow, "after_insert")
def _notify(mapper: Mapper[OutboxRow], connection: Connection, row: OutboxRow) -> None:
    """Once for a transaction."""
    if connection.dialect.name != POSTGRESQL or connection.info.get(_TOLD) is _transaction(
        connection
    ):
        return
    connection.execute(text(NOTIFY))
    connection.info[_TOLD] = _transaction(connection)


_TOLD = "mqkit.outbox.told"
"""The transaction of a connection that has its notification, and needs no second."""


def _transaction(connection: Connection) -> object:
    return connection.get_transaction()
