"""The neighbour on the disk: a process that writes and syncs 4 KiB on the same file system.

Brokers do not tell how long a single fdatasync took. One of a neighbour meanwhile says how long
anybody's had to be: a persistent message can't be confirmed sooner. It writes as a log does, into
room that is reserved and has not been written before, so that the file system has something to note
as well: where others delete large files, that is what takes long.
"""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

INTERVAL_S = 0.01
BLOCK = bytes(4096)
ROOM_BYTES = 64 << 20
"""Room for three minutes. A play that takes longer goes on at its beginning."""


def sync_beside(pipe: Connection, folder: str) -> None:
    """A worker's task: each time it is told to, write and sync until it is told again, then report
    the seconds of each write and fdatasync, in ascending order."""
    descriptor = os.open(Path(folder) / "neighbour", os.O_RDWR | os.O_CREAT, 0o600)
    pipe.send(None)
    while True:
        pipe.recv()
        took: list[float] = []
        os.ftruncate(descriptor, 0)
        os.posix_fallocate(descriptor, 0, ROOM_BYTES)
        os.fsync(descriptor)
        while not took or not pipe.poll(INTERVAL_S):
            began = time.perf_counter()
            os.pwrite(descriptor, BLOCK, len(took) * len(BLOCK) % ROOM_BYTES)
            os.fdatasync(descriptor)
            took.append(time.perf_counter() - began)
        pipe.recv()
        pipe.send(sorted(took))
