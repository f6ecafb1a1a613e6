"""Files of a disk and their names, as the running process sees them and as a crash leaves them.

Content becomes durable by a sync of its file, names by a sync of the directory; until then a crash
may drop them, keep them, or keep any part of them.
"""

from __future__ import annotations

import errno
from enum import Enum
from random import Random

SECTOR_BYTES = 512
"""Bytes that a disk writes in one piece."""


class Crash(Enum):
    """Fate of everything that was not synced."""

    DROP = "drop"
    KEEP = "keep"
    TEAR_LAST = "tear last"
    """Everything is kept but the last write, of which a prefix is: cut at any byte."""
    SUBSET = "subset"
    """Any sectors of any writes are kept, and any of the creations, renamings and deletions."""


class MediumFile:
    """A file. ``written`` is what the process sees; ``durable`` what the medium has of it."""

    __slots__ = ("durable", "flipped", "reserved_bytes", "unsynced", "written")

    def __init__(self, size_bytes: int) -> None:
        self.written = bytearray(size_bytes)
        self.durable = bytearray()
        self.unsynced: list[tuple[int, bytes]] = []
        self.reserved_bytes = size_bytes
        self.flipped: list[int] = []

    def write(self, offset: int, data: bytes) -> None:
        if self.reserved_bytes and offset + len(data) > self.reserved_bytes:
            raise AssertionError("a write goes over what was reserved: a full disk might refuse it")
        _put(self.written, offset, data)
        self.unsynced.append((offset, data))

    def resize(self, size_bytes: int) -> None:
        """Cut it, or have zeros follow."""
        _resize(self.written, size_bytes)

    def flip(self, bit: int) -> None:
        self.flipped.append(bit)
        _flip(self.written, bit)
        _flip(self.durable, bit)

    def sync(self) -> None:
        _resize(self.durable, len(self.written))
        for offset, data in self.unsynced:
            _put(self.durable, offset, data)
        self.unsynced.clear()

    def fail_to_sync(self) -> None:
        """The pages are marked clean: later syncs succeed, and the data is never on the medium
        (ext4, XFS and Btrfs do that: Rebello et al., ATC 2020)."""
        self.unsynced.clear()


class Medium:
    """The files by name. Everything random comes from ``random``."""

    def __init__(self, random: Random) -> None:
        self.files: dict[str, MediumFile] = {}
        self.durable_names: dict[str, MediumFile] = {}
        self._random = random
        self._name_changes: list[dict[str, MediumFile | None]] = []
        self._last_written: MediumFile | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of all files together."""
        return sum(len(file.written) for file in self.files.values())

    @property
    def rotten(self) -> bool:
        """True when a bit of a file that is still here was flipped."""
        return any(file.flipped for file in self.files.values())

    def file(self, name: str) -> MediumFile:
        """Raises ``FileNotFoundError``."""
        if name not in self.files:
            raise FileNotFoundError(errno.ENOENT, "simulated absence", name)
        return self.files[name]

    def write(self, file: MediumFile, offset: int, data: bytes) -> None:
        self._last_written = file
        file.write(offset, data)

    def rename(self, change: dict[str, MediumFile | None]) -> None:
        """Change the directory; the change survives a crash as a whole or not at all."""
        self._name_changes.append(change)
        _apply(change, self.files)

    def sync_names(self) -> None:
        self.durable_names = dict(self.files)
        self._name_changes.clear()

    def copy(self, *, healed: bool = False) -> Medium:
        """Another with the same files, all of them as a crash that keeps nothing unsynced would
        leave them. If it is ``healed`` no bit is flipped there."""
        other = Medium(Random(0))
        for name, file in self.durable_names.items():
            twin = other.files[name] = MediumFile(0)
            twin.written = bytearray(file.durable)
            twin.durable = bytearray(file.durable)
            for bit in file.flipped if healed else ():
                twin.flip(bit)
        other.durable_names = dict(other.files)
        return other

    def crash(self, how: Crash, torn_at: int) -> None:
        """Lose power. ``torn_at`` is the length of the prefix for :attr:`Crash.TEAR_LAST`."""
        names = self._surviving_names(how)
        for file in names.values():
            self._survive(file, how, torn_at)
        self.files = names
        self.durable_names = dict(names)
        self._name_changes.clear()
        self._last_written = None

    def _surviving_names(self, how: Crash) -> dict[str, MediumFile]:
        if how in (Crash.KEEP, Crash.TEAR_LAST):
            return dict(self.files)
        names = dict(self.durable_names)
        if how is Crash.SUBSET:
            for change in self._name_changes:
                if self._random.random() < 0.5:
                    _apply(change, names)
        return names

    def _survive(self, file: MediumFile, how: Crash, torn_at: int) -> None:
        if how is not Crash.DROP:
            _resize(file.durable, len(file.written))
        for index, (offset, data) in enumerate(file.unsynced):
            last = file is self._last_written and index == len(file.unsynced) - 1
            if how is Crash.KEEP or (how is Crash.TEAR_LAST and not last):
                _put(file.durable, offset, data)
            elif how is Crash.TEAR_LAST:
                _put(file.durable, offset, data[:torn_at])
            elif how is Crash.SUBSET:
                for start, end in _sectors(offset, len(data)):
                    if self._random.random() < 0.5:
                        _put(file.durable, start, data[start - offset : end - offset])
        file.written = bytearray(file.durable)
        file.unsynced.clear()


def _apply(change: dict[str, MediumFile | None], names: dict[str, MediumFile]) -> None:
    for file, content in change.items():
        if content is None:
            names.pop(file, None)
        else:
            names[file] = content


def _sectors(offset: int, length: int) -> list[tuple[int, int]]:
    """The parts of a write that lie in one sector each."""
    edges = range(offset - offset % SECTOR_BYTES, offset + length, SECTOR_BYTES)
    return [(max(edge, offset), min(edge + SECTOR_BYTES, offset + length)) for edge in edges]


def _put(content: bytearray, offset: int, data: bytes) -> None:
    _resize(content, max(len(content), offset + len(data)))
    content[offset : offset + len(data)] = data


def _flip(content: bytearray, bit: int) -> None:
    if bit // 8 < len(content):
        content[bit // 8] ^= 1 << (bit % 8)


def _resize(content: bytearray, size_bytes: int) -> None:
    if len(content) < size_bytes:
        content.extend(bytes(size_bytes - len(content)))
    else:
        del content[size_bytes:]
