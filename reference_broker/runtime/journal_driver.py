"""What moves the core's journal to the disk: nothing, or the disk thread.

The server calls ``start`` once, before it listens, ``kick`` after each input that may have left
records pending, and ``close`` at the end. What the disk has to say comes back through
:class:`JournalEvents`, on the loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Protocol

from reference_broker.core.broker import Broker
from reference_broker.core.journal import Journal, MemoryJournal
from reference_broker.errors import DiskFailed
from reference_broker.runtime.disk import DiskThread, open_store
from reference_broker.store.restore import restore

_log = logging.getLogger(__name__)


class JournalEvents(Protocol):
    """The server, as the driver sees it."""

    def synced(self, position: int) -> None:
        """Everything below ``position`` is on disk."""

    def disk_full(self) -> None:
        """The log can't grow. A later ``synced`` says that it can again."""

    def disk_failed(self, error: DiskFailed) -> None:
        """Nothing is on disk any more that wasn't reported. Called once."""


class JournalDriver(Protocol):
    """The journal of a broker, and what performs its batches."""

    journal: Journal

    @property
    def syncs(self) -> int:
        """fdatasync and fsync calls so far."""

    def restore_into(self, broker: Broker) -> None:
        """Rebuild definitions and messages in a broker that is empty. Once, before ``start``."""

    def start(self, loop: asyncio.AbstractEventLoop, events: JournalEvents) -> None:
        """From now on batches are performed."""

    def kick(self) -> None:
        """There may be pending records. Cheap."""

    def close(self) -> None:
        """Write what is pending, and let go of everything. Blocks. Nothing is logged after it."""


class MemoryDriver:
    """Keeps nothing: for a broker without a data folder."""

    def __init__(self) -> None:
        self.journal: Journal = MemoryJournal()
        self.syncs = 0

    def restore_into(self, broker: Broker) -> None:
        """There is nothing to restore."""

    def start(self, loop: asyncio.AbstractEventLoop, events: JournalEvents) -> None:
        """A :class:`MemoryJournal` is always synced."""

    def kick(self) -> None:
        """Nothing is ever pending."""

    def close(self) -> None:
        """There is nothing to let go of."""


class DiskDriver:
    """The segment store in a folder, and the thread that writes it.

    Making one locks the folder and recovers it; see :func:`open_store` for what that raises.
    """

    def __init__(self, directory: Path) -> None:
        self._log, self._recovered, self._folder = open_store(directory)
        self.journal: Journal = self._log
        self._thread: DiskThread | None = None

    @property
    def syncs(self) -> int:
        return self._folder.syncs

    def restore_into(self, broker: Broker) -> None:
        restored = restore(broker, self._recovered)
        self._recovered.entries.clear()
        _log.log(
            logging.WARNING if self._recovered.damage.damaged else logging.INFO,
            "recovered %d queues and %d messages after %s stop; %d entries of deleted queues; %s",
            restored.queues,
            restored.messages,
            "a clean" if self._recovered.clean else "an unclean",
            restored.orphans,
            self._recovered.damage,
        )

    def start(self, loop: asyncio.AbstractEventLoop, events: JournalEvents) -> None:
        self._thread = DiskThread(
            self._log,
            self._folder,
            loop.call_soon_threadsafe,
            events.synced,
            events.disk_failed,
            events.disk_full,
        )
        self._thread.kick()

    def kick(self) -> None:
        if self._thread is not None:
            self._thread.kick()

    def close(self) -> None:
        if self._thread is not None:
            self._thread.close()
        else:
            self._folder.close()
