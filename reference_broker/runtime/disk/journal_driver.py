"""Drivers of the core's journal: the one that keeps it in memory, and the one that moves it to the
disk by the threads of the segment store.

The server calls ``start`` once, before it listens, ``kick`` after each input that may have left
records or reads pending, and ``close`` at the end. What the disk has to say comes back through
:class:`JournalEvents`, on the loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import Fetched, Journal, MemoryJournal
from reference_broker.errors import DiskFailed
from reference_broker.http.request.host import StoreDamage
from reference_broker.runtime.disk.backlog import Backlog
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.runtime.disk.disk import DiskThread, open_store
from reference_broker.runtime.disk.disk_space import DiskSpace
from reference_broker.runtime.disk.loop_syncs import LoopSyncs
from reference_broker.runtime.disk.rewriter import Rewriter
from reference_broker.runtime.process.worker import Worker
from reference_broker.store import RecoveredLog
from reference_broker.store.log.log import Log
from reference_broker.store.start.renumbering import renumbered
from reference_broker.store.start.restore import Restored, restore, restore_node, resume

_log = logging.getLogger(__name__)


class JournalEvents(Protocol):
    """The server, as the driver sees it."""

    def synced(self, position: int) -> None:
        """Everything below ``position`` is on disk."""

    def fetched(self, answers: list[Fetched]) -> None:
        """Messages that queues have asked the journal for were read."""

    def disk_full(self) -> None:
        """The log can't grow. A later ``synced`` says that it can again."""

    def disk_low(self) -> None:
        """The disk is getting full; the log can still grow."""

    def disk_recovered(self) -> None:
        """There is room on the disk again."""

    def disk_failed(self, error: DiskFailed) -> None:
        """Nothing is on disk any more that wasn't reported. Called once."""


class JournalDriver(Protocol):
    """The journal of a broker, and the performer of its batches."""

    journal: Journal

    @property
    def syncs(self) -> int:
        """fdatasync and fsync calls so far."""

    @property
    def damage(self) -> StoreDamage:
        """Damage of the store that was found at the start, and since."""

    def restore_into(self, broker: Broker) -> None:
        """Rebuild definitions and messages in a broker that is empty. Once, before ``start``."""

    def start(self, loop: asyncio.AbstractEventLoop, events: JournalEvents) -> None:
        """Perform batches from now on, and report to ``events``."""

    def kick(self) -> None:
        """Begin what is pending of records, reads, and pages to write. Cheap; call it after each
        input."""

    def retry(self) -> None:
        """Try again what the disk had no room for. Harmless when there is nothing."""

    def set_disk_free_limit(self, limit_bytes: int) -> None:
        """Put another limit in force: ``disk_low`` is called when less is free."""

    def close(self, *, clean: bool = True) -> None:
        """Write what is pending, and let go of everything. Blocks. Nothing is logged after it. The
        next start is an unclean one unless this end is ``clean``: nobody holds a message, and no
        work is left over."""


class MemoryDriver:
    """Keeps nothing: for a broker without a data folder."""

    def __init__(self) -> None:
        self.journal: Journal = MemoryJournal()
        self.syncs = 0
        self.damage = StoreDamage()

    def restore_into(self, broker: Broker) -> None:
        """There is nothing to restore."""

    def start(self, loop: asyncio.AbstractEventLoop, events: JournalEvents) -> None:
        """A :class:`MemoryJournal` is always synced."""

    def kick(self) -> None:
        """Nothing is ever pending."""

    def retry(self) -> None:
        """Nothing is ever short of room."""

    def set_disk_free_limit(self, limit_bytes: int) -> None:
        """Nothing is kept on a disk."""

    def close(self, *, clean: bool = True) -> None:
        """There is nothing to let go of."""


class DiskDriver:
    """The segment store in a folder, and the threads that write, read and rewrite it.

    Making one locks the folder and recovers it; see :func:`open_store` for what that raises.
    ``disk_free_limit_bytes``: with less free on its disk the server hears ``disk_low``.
    """

    def __init__(self, directory: Path, disk_free_limit_bytes: int = 0) -> None:
        store = open_store(directory)
        self._directory = directory
        self._log, self._folder = store.log, store.folder
        self._recovered: RecoveredLog | None = store.recovered
        self._found = store.recovered.damage
        self._disk_free_limit_bytes = disk_free_limit_bytes
        self.journal: Journal = self._log
        self._running: _Running | None = None

    @property
    def syncs(self) -> int:
        rewriting = 0 if self._running is None else self._running.rewrite_access.syncs
        return self._folder.syncs + rewriting

    @property
    def damage(self) -> StoreDamage:
        found = self._found
        return StoreDamage(
            lost_messages=sum(found.lost.values()),
            quarantined_bytes=found.quarantined_bytes,
            quarantined_files=len(found.damaged_files),
            missing_segments=len(found.missing_segments),
            unreadable_reads=0 if self._running is None else self._running.backlog.unreadable,
        )

    def restore_into(self, broker: Broker) -> None:
        recovered = self._take_recovered()
        restored = restore(broker, recovered)
        resume(broker, self._log, self._folder)
        self._report(broker, recovered, restored)

    # A node of a cluster: ``hold``, ``start``, and ``hand_over`` when all that the nodes have
    # agreed on is there.

    @property
    def held_definitions(self) -> Mapping[str, bytes]:
        """The definitions that were found in the folder, until :meth:`hand_over`."""
        assert self._recovered is not None
        return self._recovered.definitions

    def holds_messages_of(self, queue_id: int) -> bool:
        """True if the folder has messages of that queue; until :meth:`hand_over`."""
        assert self._recovered is not None
        return queue_id in self._recovered.queues

    def hold(self) -> None:
        """Keep the messages that were found, though no queue has them yet: the journal may be
        written meanwhile. Once, before :meth:`start`."""
        assert self._recovered is not None
        self._log.attach(self._recovered)

    def renumber(self, key: str, new_id: int) -> Iterator[None]:
        """The steps of giving the queue that ``key`` defines another id. Blocks for some messages
        at a time; after each step wait for the journal to be synced."""
        assert self._recovered is not None
        return renumbered(self._log, self._recovered, self._folder.access(), key, new_id)

    def hand_over(self, broker: Broker, queue_ids: Container[int]) -> None:
        """Give the queues of ``broker`` that are here, as ``queue_ids`` say, their messages, and
        drop all others. Once."""
        recovered = self._take_recovered()
        restored = restore_node(broker, recovered, queue_ids)
        resume(broker, self._log, self._folder.access())
        self._report(broker, recovered, restored)

    def _take_recovered(self) -> RecoveredLog:
        recovered, self._recovered = self._recovered, None
        assert recovered is not None, "the queues have their messages already"
        return recovered

    def _report(self, broker: Broker, recovered: RecoveredLog, restored: Restored) -> None:
        _log.log(
            logging.ERROR if self._found.damaged else logging.INFO,
            "recovered %d queues and %d messages after %s stop; %d entries of deleted queues; %s",
            restored.queues,
            restored.messages,
            "a clean" if recovered.stopped else "an unclean",
            restored.orphans,
            self._found,
        )
        if self._found.damaged:
            _log.error(
                "`mqkit broker store check %s` names every damaged place, and `mqkit broker store"
                " repair` makes the folder sound, with the broker stopped",
                self._directory,
            )
        for queue_id, lost in self._found.lost.items():
            queue = broker.queues_by_id.get(queue_id)
            name = f"id {queue_id}, which is deleted" if queue is None else repr(queue.name)
            _log.error("queue %s has lost %d messages at most", name, lost)

    def start(self, loop: asyncio.AbstractEventLoop, events: JournalEvents) -> None:
        self._running = _Running(loop, self._log, self._folder, self._disk_free_limit_bytes, events)
        self._running.disk.kick()

    def kick(self) -> None:
        if self._running is not None:
            self._running.kick()

    def retry(self) -> None:
        if self._running is not None:
            self._running.space.retry()
            self._running.kick()

    def set_disk_free_limit(self, limit_bytes: int) -> None:
        if self._running is not None:
            self._running.space.limit(limit_bytes)

    def close(self, *, clean: bool = True) -> None:
        if self._running is not None:
            self._running.close(clean=clean)
        else:
            self._folder.close()


class _Running:
    """The threads of a store that was started, and the news that each of them has for the
    others."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        log: Log,
        folder: DataFolder,
        disk_free_limit_bytes: int,
        events: JournalEvents,
    ) -> None:
        self._events = events
        self._closing = False
        self.rewrite_access = folder.access()
        self.disk = DiskThread(
            log,
            folder,
            loop.call_soon_threadsafe,
            loop.call_later,
            LoopSyncs(time.monotonic),
            self._synced,
            events.disk_failed,
            events.disk_full,
            self._spare_made,
        )
        reading = Worker("backlog", loop.call_soon_threadsafe)
        self.backlog = Backlog(log, folder.access(), reading, loop.call_later, events)
        copying = Worker("rewrite", loop.call_soon_threadsafe)
        self._rewriter = Rewriter(
            log, self.rewrite_access, copying, loop.call_later, self.disk.kick
        )
        self.space = DiskSpace(
            loop.call_later, folder.free_bytes, disk_free_limit_bytes, log, events
        )
        self._rewriter.synced()  # what an earlier run has left

    def kick(self) -> None:
        self.disk.kick()
        self.backlog.kick()

    def close(self, *, clean: bool) -> None:
        """Close all of them. Idempotent. The threads that read and rewrite end first; then the log
        is closed."""
        self._closing = True
        self.space.close()
        self._rewriter.close()
        self.backlog.close()
        self.disk.close(clean=clean)

    def _synced(self, position: int) -> None:
        if not self._closing:
            self._rewriter.synced()
        self._events.synced(position)

    def _spare_made(self) -> None:
        if not self._closing:
            self.space.look()
