"""Data folders: on a real disk, how large they are, and out of the page cache.

An fdatasync on tmpfs costs nothing, and a comparison there would say nothing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import typer

BLOCK_BYTES = 512
"""The unit of ``st_blocks`` (POSIX)."""
MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs"}


class Usage(NamedTuple):
    """The size of a folder's files: their lengths, and the blocks that are allocated for them."""

    files: int
    size_bytes: int
    allocated_bytes: int


def usage(folder: Path) -> Usage:
    """The folder's files now. One that is deleted meanwhile does not count."""
    files = size = allocated = 0
    for path in _files(folder):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        files += 1
        size += status.st_size
        allocated += status.st_blocks * BLOCK_BYTES
    return Usage(files, size, allocated)


def evict(folder: Path) -> None:
    """Have the kernel forget its cached pages of the files, so that reads come from the disk.

    Only pages that are on disk already go; so sync first. Does nothing where the system has no
    ``posix_fadvise``.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    for path in _files(folder):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _files(folder: Path) -> Iterator[Path]:
    for directory, _, names in os.walk(folder):
        yield from (Path(directory, name) for name in names)


def file_system(folder: Path) -> str:
    """The type of the file system that holds ``folder`` (the longest mount point that fits)."""
    best, kind = "", "unknown"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        mount_point = left.split()[4]
        if folder.is_relative_to(mount_point) and len(mount_point) >= len(best):
            best, kind = mount_point, right.split()[0]
    return kind


def disk_kind() -> str:
    """The file system of the folder for temporary files, where all contestants keep their data.

    Raises ``typer.BadParameter`` when that is no disk.
    """
    temporary = Path(tempfile.gettempdir()).resolve()
    kind = file_system(temporary)
    if kind in MEMORY_FILE_SYSTEMS:
        raise typer.BadParameter(
            f"{temporary} is on {kind}, where a sync costs nothing: set TMPDIR to a disk"
        )
    return kind


@contextmanager
def data_folder(needed_bytes: int = 0) -> Iterator[Path]:
    """An empty folder on that disk, removed afterwards.

    Raises ``typer.BadParameter`` when less than ``needed_bytes`` are free there.
    """
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < needed_bytes:
        raise typer.BadParameter(
            f"{tempfile.gettempdir()} has {free / 2**30:.1f} GiB free;"
            f" this needs {needed_bytes / 2**30:.1f}: ask for less, or set TMPDIR"
        )
    with tempfile.TemporaryDirectory(prefix="mqkit-bench-") as folder:
        yield Path(folder)
