"""Writing to the outbox: a row in the transaction of the caller's, and a notification at its
commit.

Nothing is sent here. A rollback, of a savepoint too, takes the message along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from django.db import connections, router
from django.db.transaction import TransactionManagementError

from mqkit.message import Message
from mqkit.outbox.dialect import POSTGRESQL, supported
from mqkit.outbox.notification import NOTIFY
from mqkit.outbox.preparing import prepared
from mqkit.outbox.stored import columns_of
from mqkit.publishing.message_options import MessageOptions
from mqkit.publishing.outgoing import outgoing

if TYPE_CHECKING:
    from mqkit.outbox.django.models import OutboxRow


def publish(
    exchange: str,
    routing_key: str,
    body: object,
    *,
    message_id: str | None = None,
    headers: Mapping[str, Any] | None = None,
    ordering_key: str | None = None,
    using: str | None = None,
    **options: Unpack[MessageOptions],
) -> OutboxRow:
    """Have one message published if the transaction commits: call it within
    ``transaction.atomic()``.

    ``exchange`` to ``options`` are as for :func:`mqkit.outbox.publish`. ``using`` names the
    database of the transaction; it is that of the site's routers for the outbox unless it is given.
    Returns the row, which is written and has its ``id``.

    Raises :exc:`~mqkit.errors.ConfigurationError` if no message can be made of the arguments, or
    the database is neither PostgreSQL nor SQLite; and
    :exc:`django.db.transaction.TransactionManagementError` if there is no transaction, for the row
    would then be committed by itself, whatever becomes of the caller's work.
    """
    message = outgoing(
        exchange, routing_key, body, message_id=message_id, headers=headers, **options
    )
    return send(message, ordering_key=ordering_key, using=using)


def send(
    message: Message, *, ordering_key: str | None = None, using: str | None = None
) -> OutboxRow:
    """As :func:`publish`, for a message that is made already: of :meth:`mqkit.App.message`, of a
    target's, of :meth:`mqkit.App.delayed`."""
    # Models can be imported when Django's apps are loaded, and this module earlier.
    from mqkit.outbox.django.models import OutboxRow

    row = OutboxRow(**columns_of(prepared(message), ordering_key))
    database = router.db_for_write(OutboxRow) if using is None else using
    connection = connections[database]
    dialect = supported(connection.vendor)
    if connection.get_autocommit():
        raise TransactionManagementError(
            "a message of the outbox is written in a transaction, and there is none on the"
            f" database {database!r}: publish within transaction.atomic()"
        )
    row.save(using=database, force_insert=True)
    if dialect == POSTGRESQL:
        with connection.cursor() as cursor:
            cursor.execute(NOTIFY)
    return row
