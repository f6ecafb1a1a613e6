"""The neighbour on the disk: a process that writes and syncs 4 KiB on the same file system.

Brokers do not tell how long a single fdatasync took. One of a neighbour meanwhile says how long
anybody's had to be: a persistent message can't be confirmed sooner.
"""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

INTERVAL_S = 0.01
BLOCK = bytes(4096)


def sync_beside(pipe: Connection, folder: str) -> None:
    """A worker's task: each time it is told to, write and sync until it is told again, then report
    the seconds of each write and fdatasync, in ascending order. The file is written over, so that
    nothing but data is synced."""
    descriptor = os.open(Path(folder) / "neighbour", os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(descriptor, BLOCK, 0)
    os.fsync(descriptor)
    pipe.send(None)
    while True:
        pipe.recv()
        took: list[float] = []
        while not took or not pipe.poll(INTERVAL_S):
            began = time.perf_counter()
            os.pwrite(descriptor, BLOCK, 0)
            os.fdatasync(descriptor)
            took.append(time.perf_counter() - began)
        pipe.recv()
        pipe.send(sorted(took))
