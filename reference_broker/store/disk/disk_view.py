"""A disk wrapped by another: reads go through, and a subclass performs the operations."""

from __future__ import annotations

from collections.abc import Sequence

from reference_broker.store.disk.ports import Disk


class DiskView:
    """The reading half of a :class:`Disk`. A subclass has ``perform`` and ``close``."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def list_files(self) -> Sequence[str]:
        return self._disk.list_files()

    def read(self, file: str) -> bytes:
        return self._disk.read(file)

    def read_range(self, file: str, offset: int, size_bytes: int) -> bytes:
        return self._disk.read_range(file, offset, size_bytes)

    def size(self, file: str) -> int:
        return self._disk.size(file)

    def free_bytes(self) -> int:
        return self._disk.free_bytes()
