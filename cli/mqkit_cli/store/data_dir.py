"""A broker's data folder from the outside, while no broker or another process uses it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from mqkit_cli.errors import CommandError
from reference_broker.errors import DataDirectoryLocked
from reference_broker.runtime.disk.data_folder import LOCK_FILE, DataFolder, FolderAccess
from reference_broker.store.format.segment import QUARANTINE_SUFFIX, SegmentName

TRIES = 5
"""The attempts at reading a folder while a broker takes files away. It does so once in many
seconds, and reading takes less."""

Read = TypeVar("Read")


class FolderChanged(CommandError):
    """A broker took a file away."""


def read_steadily(directory: Path, read: Callable[[FolderAccess], Read]) -> Read:
    """The result of ``read`` for the folder. ``read`` is called again when a listed file was gone:
    a broker deletes and rewrites segments.

    Raises :exc:`CommandError` when the folder is none, can't be read, or changes too fast.
    """
    for _ in range(TRIES - 1):
        with suppress(FolderChanged), opened(directory) as folder:
            return read(folder)
    with opened(directory) as folder:
        return read(folder)


@contextmanager
def opened(directory: Path) -> Iterator[FolderAccess]:
    """The folder without its lock, for reading.

    Raises :exc:`CommandError` when it is none or can't be read, and :exc:`FolderChanged` when a
    file is gone that was there before.
    """
    _check(directory)
    folder = FolderAccess(directory)
    try:
        yield folder
    except FileNotFoundError:
        raise FolderChanged(
            f"{directory} changed while it was read: stop the broker, and try again"
        ) from None
    except OSError as error:
        raise _unreadable(directory, error) from None
    finally:
        folder.close()


@contextmanager
def held(directory: Path) -> Iterator[DataFolder]:
    """The folder with its lock, so that no broker can use it meanwhile.

    Raises :exc:`CommandError` when a broker does, and when the folder is none.
    """
    _check(directory)
    try:
        folder = DataFolder(directory)
    except DataDirectoryLocked:
        raise in_use(directory) from None
    except OSError as error:
        raise _unreadable(directory, error) from None
    try:
        yield folder
    except OSError as error:
        raise _unreadable(directory, error) from None
    finally:
        folder.close()


def is_in_use(directory: Path) -> bool:
    """Does a process hold the folder's lock? Nothing is changed, and the lock isn't kept."""
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def in_use(directory: Path) -> CommandError:
    """The error for a folder that must not be in use."""
    return CommandError(f"{directory} is in use by a broker: stop it first")


def _check(directory: Path) -> None:
    if not directory.exists():
        raise CommandError(f"{directory}: there is no such folder")
    if not directory.is_dir():
        raise CommandError(f"{directory} is not a folder: name the broker's data folder")
    try:
        files = os.listdir(directory)
    except OSError as error:
        raise _unreadable(directory, error) from None
    if not any(_is_segment(file) for file in files):
        raise CommandError(
            f"{directory} is not a broker's data folder: no segment of a log is in it"
        )


def _is_segment(file: str) -> bool:
    """True for a segment's file, quarantined or not."""
    return SegmentName.parse(file.removesuffix(QUARANTINE_SUFFIX)) is not None


def _unreadable(directory: Path, error: OSError) -> CommandError:
    place = error.filename or directory
    return CommandError(f"{place}: {error.strerror or error}")
