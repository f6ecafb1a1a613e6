"""The steps on files that a spool rests on: synced writes, a link that one can win, locks."""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mqkit_spark.source.stream.spool.faults import SpoolError, one_line

LOOK_AGAIN_S = 0.02


def sync(path: Path) -> None:
    """Return when a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write(path: Path, octets: bytes, *, synced: bool = True) -> None:
    """Have the file there whole, with this content, or as it was before."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with beside.open("wb") as file:
        file.write(octets)
        if synced:
            file.flush()
            os.fsync(file.fileno())
    os.replace(beside, path)
    if synced:
        sync(path.parent)


def won(attempt: Path, path: Path) -> bool:
    """Give the synced file ``attempt`` the name ``path``, unless there is one of that name: exactly
    one of many can do so. The name is on the disk when this returns ``True``."""
    try:
        os.link(attempt, path)
    except FileExistsError:
        return False
    sync(path.parent)
    return True


def probe(folder: Path) -> None:
    """Raise :exc:`SpoolError` where the file system of ``folder`` has no such link, sync or lock;
    found out by trying."""
    name = secrets.token_hex(4)
    attempt, path = folder / f".probe-{name}", folder / f".probed-{name}"
    try:
        with one_line(f"spoolLocation {folder}: its file system can't link, sync or lock files"):
            write(attempt, b"probe")
            with locked(attempt, within_s=0, what="probe"):
                first, second = won(attempt, path), won(attempt, path)
        if not first or second or path.read_bytes() != b"probe":
            raise SpoolError(
                f"spoolLocation {folder}: its file system lets two link the same name; take another"
            )
    finally:
        attempt.unlink(missing_ok=True)
        path.unlink(missing_ok=True)


@contextmanager
def locked(
    path: Path, *, within_s: float, what: str, pause: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Hold the lock of a file for the time of the block; a process that dies lets go of it.

    Raises :exc:`SpoolError` with ``what`` where another has it for ``within_s`` seconds on.
    """
    descriptor = hold(path, within_s=within_s, what=what, pause=pause)
    try:
        yield
    finally:
        os.close(descriptor)


def hold(
    path: Path, *, within_s: float, what: str, pause: Callable[[float], None] = time.sleep
) -> int:
    """As :func:`locked`; the lock is held until the returned descriptor is closed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        deadline = time.monotonic() + within_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise SpoolError(what) from None
                pause(LOOK_AGAIN_S)
            else:
                return descriptor
    except BaseException:
        os.close(descriptor)
        raise
