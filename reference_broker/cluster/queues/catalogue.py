"""The queues of this node, by id, as a peer asks for them.

A peer whose view is ahead may know a queue that is not here yet: it has said how far its view is
before it asked, so what it names is here, or deleted, once this node's view is as far.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from reference_broker.core.journal.watermark import Watermark
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.until import NotYet

if TYPE_CHECKING:
    from reference_broker.core.vhost.vhost import VHost


class Catalogue:
    """``queues_by_id`` are the broker's, inner queues included, which no peer may name;
    ``revision`` is what this node's view has reached."""

    __slots__ = ("_queues", "_revision")

    def __init__(self, queues_by_id: Mapping[int, Queue], revision: Watermark) -> None:
        self._queues = queues_by_id
        self._revision = revision

    def find(self, queue_id: int, revision: int) -> Queue | None:
        """The queue; ``None`` for one that is deleted. ``revision`` is what the peer's view has
        reached. Raises :exc:`NotYet` where this node's is behind."""
        queue = self._queues.get(queue_id)
        if queue is not None:
            return queue if vhost_of(queue).queues.get(queue.name) is queue else None
        if self._revision.value < revision:
            raise NotYet(self._revision.reaches(revision))
        return None


def vhost_of(queue: Queue) -> VHost:
    """The virtual host of a queue."""
    return cast("VHost", queue.env)
