"""From a lot into a file: a message leaves the lot when the disk has it.

    a window of the lot  ->  appended to the file  ->  file and folder synced  ->  acked

A kill in between leaves messages in both, and a restore knows them again; nothing is ever in
neither. Until it is complete the file is called ``NAME.part``, and so it stays if this ends early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqkit.errors import MqkitError
from mqkit.lots.archive.first_free import FirstFree
from mqkit.lots.archive.formats import Origin
from mqkit.lots.archive.place import Place
from mqkit.lots.archive.record import Record
from mqkit.lots.choice import Choice
from mqkit.lots.chosen_windows import chosen_windows
from mqkit.lots.link import LotLink
from mqkit.lots.reading import LotReader, Window, reading
from mqkit.message import Delivery

Stopping = Callable[[], bool]
"""Asked between windows: true to stop there."""


def never() -> bool:
    """Nobody stops it."""
    return False


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """The counts of an archive, so far or at the end.

    ``archived`` messages have left the lot. ``file`` is the archive, ``None`` where nothing was
    chosen; ``complete`` is false for a file that is called ``.part`` because this ended early:
    ``stopped`` says why. The rest is in the lot as before.
    """

    lot: str
    total: int = 0
    seen: int = 0
    archived: int = 0
    file: str | None = None
    complete: bool = False
    stopped: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values, for ``--json``."""
        return {
            "lot": self.lot,
            "total": self.total,
            "seen": self.seen,
            "archived": self.archived,
            "file": self.file,
            "complete": self.complete,
            "stopped": self.stopped,
        }


async def archive(
    link: LotLink,
    lot: str,
    place: Place | None = None,
    choice: Choice | None = None,
    *,
    window: Window | None = None,
    stopping: Stopping = never,
    on_progress: Callable[[ArchiveReport], None] = lambda report: None,
) -> ArchiveReport:
    """Move the chosen messages of ``lot`` into a new file.

    A disk that gets full, or a broker that goes away, ends it: the report says so in ``stopped``,
    and what is not safely in the file is in the lot. Raises
    :exc:`~mqkit.errors.ConfigurationError` for a queue that is no lot, or is not there, and
    :exc:`~mqkit.lots.archive.fault.ArchiveFault` where no file can be begun.
    """
    link.check_lot(lot)
    now = link.now()
    async with reading(link, lot, "archive") as reader:
        origin = Origin(lot, link.endpoint.vhost, now)
        run = _Run(reader, FirstFree((place or Place()).paths(lot, now), origin), on_progress)
        try:
            windows = chosen_windows(reader, choice or Choice(), now, window or Window())
            async for chosen in windows:
                await run.keep(chosen)
                if stopping():
                    run.stopped = "asked to stop"
                    break
            await run.complete()
        except MqkitError as error:
            if not run.file.is_begun:
                raise
            run.stopped = str(error)
        finally:
            left = await asyncio.to_thread(run.file.abandon)
        return run.report(left)


class _Run:
    """The messages on their way: those of the tags ``_waiting`` are in the file, and not yet safe
    there."""

    def __init__(
        self, reader: LotReader, file: FirstFree, on_progress: Callable[[ArchiveReport], None]
    ) -> None:
        self.file = file
        self.stopped = ""
        self._reader = reader
        self._on_progress = on_progress
        self._waiting: list[int] = []
        self._archived = 0
        self._is_complete = False

    async def keep(self, chosen: list[Delivery]) -> None:
        """Write, sync, and ack what is safe."""
        records = [Record.of(delivery) for delivery in chosen]
        safe = await asyncio.to_thread(self.file.keep, records)
        self._waiting += [delivery.delivery_tag for delivery in chosen]
        await self._let_go(safe - self._archived)
        self._on_progress(self.report(None))

    async def complete(self) -> None:
        """Give the file its end and its name; then all of it is safe."""
        if self.file.is_begun:
            await asyncio.to_thread(self.file.complete)
            self._is_complete = True
            await self._let_go(len(self._waiting))

    async def _let_go(self, number: int) -> None:
        safe, self._waiting = self._waiting[:number], self._waiting[number:]
        await self._reader.ack(safe)
        self._archived += len(safe)

    def report(self, left: Path | None) -> ArchiveReport:
        """``left`` is the part that an early end leaves."""
        reader = self._reader
        path = self.file.path if self._is_complete else left
        return ArchiveReport(
            lot=reader.lot,
            total=reader.total,
            seen=reader.seen,
            archived=self._archived,
            file=None if path is None else str(path),
            complete=self._is_complete,
            stopped=self.stopped,
        )
