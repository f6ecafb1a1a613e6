"""Archives as the clock needs them, and the one place where they come from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, TypeAlias

from mqkit.lots.archive.first_free import FirstFree
from mqkit.lots.archive.formats import Origin
from mqkit.lots.archive.place import Place
from mqkit.lots.archive.record import Record
from mqkit.message import Delivery
from mqkit.topology.lot_model import ArchiveModel


class ArchiveFile(Protocol):
    """A file that messages are added to. A message leaves its lot after :meth:`sync`, which
    returns when the file *and its folder* would survive a loss of power.

    Both raise ``OSError`` or :exc:`~mqkit.errors.MqkitError` where that can't be had (a full disk,
    a folder that is not ours); the messages stay in the lot then.
    """

    async def add(self, messages: Sequence[Delivery]) -> None: ...
    async def sync(self) -> None: ...


class Archive(Protocol):
    """Makes a new file for each run."""

    def run(self, lot: str) -> AbstractAsyncContextManager[ArchiveFile]:
        """The file for messages of the queue ``lot``; closed when the block ends. Raises as the
        file does."""
        ...


ArchiveFor: TypeAlias = Callable[[ArchiveModel, str], Archive]
"""The archive of a model, in the virtual host of that name."""


def archive_for(model: ArchiveModel, vhost: str) -> Archive:
    """The archive that a file's ``archive:`` describes."""
    return FileArchive(Place(model.to), vhost)


@dataclass(frozen=True, slots=True)
class FileArchive:
    """Files at ``place``: one a run, made when there is a message for it."""

    place: Place
    vhost: str

    @asynccontextmanager
    async def run(self, lot: str) -> AsyncIterator[ArchiveFile]:
        """The file for messages of ``lot``: whole when the block ends, and a ``.part`` where that
        can't be had."""
        now = datetime.now(UTC)
        file = FirstFree(self.place.paths(lot, now), Origin(lot, self.vhost, now))
        try:
            yield _Appended(file)
            if file.is_begun:
                await asyncio.to_thread(file.complete)
        finally:
            await asyncio.to_thread(file.abandon)


class _Appended:
    """JSON lines have each window that was synced; Parquet would have none before its end, and the
    reader of the file's ``lots:`` refuses it."""

    def __init__(self, file: FirstFree) -> None:
        self._file = file
        self._added: list[Record] = []

    async def add(self, messages: Sequence[Delivery]) -> None:
        self._added += [Record.of(message) for message in messages]

    async def sync(self) -> None:
        added, self._added = self._added, []
        if added:
            await asyncio.to_thread(self._file.keep, added)
