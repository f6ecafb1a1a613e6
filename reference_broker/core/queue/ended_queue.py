"""The end of a queue: it lets go of its parts, so that it is freed by its reference count.

The parts of a queue refer to it, and it to them. Left so, a deleted queue would stay until the
garbage collector looks for it, which may take long. Others may hold the queue for a while (a stale
lease, a route that a channel remembers, a listing of the management API): what they ask of it still
has an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from reference_broker.core.message.content import Content
from reference_broker.core.queue.expiry import MessageExpiry

if TYPE_CHECKING:
    from reference_broker.core.queue.queue import Queue


class _NoQueue:
    """A queue as the parts of a deleted one see it: there is no message in it, nor ever will be."""

    __slots__ = ()
    deleted = True
    ready = ready_bytes = 0


NO_CONTENT = Content(b"", b"", b"")
"""The content of a stale lease: it stays with its channel until that settles it, and the message,
whose octets nobody would account for, does not."""

_NO_QUEUE = cast("Queue", _NoQueue())


def let_go(queue: Queue) -> None:
    """Cancel what the parts of ``queue`` wait for, which was ended and holds nothing any more, and
    cut each of them off."""
    queue.header_bytes = 0
    queue.expiry.cancel()
    queue.expiry = MessageExpiry(_NO_QUEUE)
    if queue.unused_expiry is not None:
        queue.unused_expiry.cancel()
    queue.unused_expiry = queue.delivery_counts = None
    queue.delayed.cut_off(_NO_QUEUE)
    queue.backlog.cut_off(_NO_QUEUE)
