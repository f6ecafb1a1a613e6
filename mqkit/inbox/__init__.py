"""Deliveries whose key is written in the transaction of their handler: each does its work once.

    tables       the table of keys
    key          the key of a delivery
    inbox        the object that a program has, and hands to its consumers
    sessions     a session and its transaction around a handler, of either kind
    handling     a handler of messages, and one of batches, with the inbox around
    cleaning     old keys, deleted in slices
    retention    the longest way that a message can take, by the topology

The law of this room: the key of a message and what its handler has written are there together, or
neither is.

    sessions = async_sessionmaker(engine)
    inbox = Inbox(sessions)

    @app.consumer("orders", inbox=inbox)
    async def place(order: Order, session: AsyncSession = mqkit.depends(inbox.session)) -> None:
        session.add(...)
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names

if TYPE_CHECKING:
    from mqkit.inbox.counts import InboxCounts
    from mqkit.inbox.inbox import Inbox
    from mqkit.inbox.tables import InboxRow, metadata

__all__ = ["Inbox", "InboxCounts", "InboxRow", "metadata"]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.inbox.counts": ("InboxCounts",),
        "mqkit.inbox.inbox": ("Inbox",),
        "mqkit.inbox.tables": ("InboxRow", "metadata"),
    },
)
