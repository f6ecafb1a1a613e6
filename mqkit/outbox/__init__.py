"""Messages that are written in the caller's database transaction, and published by a relay.

    tables          the two tables, and their metadata
    state           the states of a row
    writing         publish() and send(): a row in the transaction of a session
    preparing       what is done to a message before it becomes a row
    stored          a message as columns, and back
    dialect         the databases that an outbox can be in
    partition       the share of a row: rows of one key have the same
    database        work on a connection, of an engine of either kind
    shares/         who works on which partitions: one relay at a time on each
    window          the rows that a relay has in memory
    sending         the rows of a window, published: in order by key
    marking         the outcomes, written down
    notification    NOTIFY
    listening       LISTEN
    relay           all of it, until it is cancelled
    repair          what a person does: list, retry, purge
    django/         a Django app: the same tables, and publish() in a transaction of Django's

The law of this room: a row goes only when the broker has confirmed its message, or when somebody
purges it. What is published twice is published under one message id and one idempotency key.

    from mqkit import outbox

    with Session(engine) as session, session.begin():
        session.add(order)
        outbox.publish(session, "orders", "order.placed", body, ordering_key=order.customer)

    app.run(outbox.Relay(app, engine))
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.outbox.relay import Relay, RelayReport
    from mqkit.outbox.state import State
    from mqkit.outbox.tables import OutboxRow, SentRow, metadata
    from mqkit.outbox.writing import publish, send

__all__ = [
    "OutboxRow",
    "Relay",
    "RelayReport",
    "SentRow",
    "State",
    "metadata",
    "publish",
    "send",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.outbox.relay": ("Relay", "RelayReport"),
        "mqkit.outbox.state": ("State",),
        "mqkit.outbox.tables": ("OutboxRow", "SentRow", "metadata"),
        "mqkit.outbox.writing": ("publish", "send"),
    },
)
