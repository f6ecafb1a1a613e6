"""A journal in memory that is synced some time later: what a process confirms early is seen."""

from __future__ import annotations

from collections.abc import Sequence

from reference_broker.core.journal.journal import Entry, MemoryJournal
from reference_broker.core.message.content import Content


class LaggingJournal(MemoryJournal):
    """Call :meth:`synced_up_to` for what the disk has reached; its owner tells the broker.

    It dies with its process. :meth:`has_synced` says whether a message of a queue is on disk.
    """

    def __init__(self, epoch: int) -> None:
        super().__init__(epoch)
        self._unsynced: dict[tuple[int, bytes], int] = {}

    def _append(self) -> int:
        position = self.tail
        self.tail = position + 1
        return position

    def publish(self, entries: Sequence[Entry], content: Content) -> None:
        """Note the message for each of its queues."""
        self._append()
        for entry in entries:
            self._unsynced[entry.queue_id, bytes(content.body)] = self.tail

    def publish_run(self, entry: Entry, contents: Sequence[Content]) -> int:
        for content in contents:
            self.publish((entry,), content)
        return len(contents)

    def synced_up_to(self, position: int) -> None:
        """The disk has everything before ``position``."""
        self.synced = position
        left = self._unsynced.items()
        self._unsynced = {key: tail for key, tail in left if tail > position}

    def has_synced(self, queue_id: int, body: bytes) -> bool:
        """False while the message is logged, and not on disk."""
        return (queue_id, body) not in self._unsynced
