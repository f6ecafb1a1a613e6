"""The process's malloc: blocks of large messages are the kernel's pages, not parts of the heap.

A body grows in one block while it arrives. glibc gives a large block pages of its own, which grow
without being copied and go back to the system when the message goes; but each time that one is
freed it learns to take the next of that size, up to 32 MiB, from the heap. There a block that grows
is copied, so that a message is held twice, and what was freed stays with the process.

Small messages are the heap's, and what was freed of it goes back to the system when it is asked to.
"""

from __future__ import annotations

import ctypes
import sys

from reference_broker.core.base.limits import MIB

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3

LARGE_BLOCK_BYTES = 4 * MIB
"""Bytes from which on a block has its own pages. Above what is joined for one write (see
:mod:`reference_broker.runtime.net.paced_output`), so that whoever sends many small messages does
not pay for fresh pages."""

HEAP_KEPT_BYTES = 2 * LARGE_BLOCK_BYTES
"""Free memory that the heap's end may keep: glibc's own ratio. Its default of 128 KiB, which holds
as soon as the other is set, would hand back and fetch the buffer of every read."""


def give_large_blocks_their_own_pages() -> bool:
    """Have malloc take large blocks from the kernel. True if it could be done: with glibc only. The
    setting is for the whole process, so it is the decision of whoever owns that: a command, not a
    library. Idempotent."""
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((_TRIM_THRESHOLD, HEAP_KEPT_BYTES), (_MMAP_THRESHOLD, LARGE_BLOCK_BYTES))
    return all(mallopt(parameter, value) == 1 for parameter, value in settings)


def give_free_memory_back() -> None:
    """Have the system take every whole page that is free in the heap. With glibc only, and at a
    moment when nothing else is to be done: see
    :mod:`reference_broker.runtime.process.heap_trimmer`."""
    ctypes.CDLL(None).malloc_trim(ctypes.c_size_t(0))
