"""Figures of the process, as the operating system has them."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

_STATM = Path("/proc/self/statm")
_STAT = Path("/proc/self/stat")
_KERNEL = Path("/proc/stat")
_DESCRIPTORS = Path("/proc/self/fd")


def resident_bytes() -> int:
    """Bytes of resident memory."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # no /proc: the peak is the nearest that there is (in KiB on Linux and BSD)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def descriptors_used() -> int:
    """Open files and sockets; 0 where nobody can tell."""
    try:
        return len(os.listdir(_DESCRIPTORS))
    except OSError:
        return 0


def descriptors_max() -> int:
    """Upper limit of open files and sockets."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def started_at_s() -> float | None:
    """Start of the process, in seconds since 1970; ``None`` where nobody can tell."""
    try:
        ticks = int(_STAT.read_text().rpartition(")")[2].split()[19])
        booted = next(int(line.split()[1]) for line in _KERNEL.open() if line.startswith("btime "))
    except (OSError, StopIteration):
        return None
    return booted + ticks / os.sysconf("SC_CLK_TCK")


def disk_free(data_dir: Path | None) -> int:
    """Free bytes of the disk where the log is, or would be."""
    return shutil.disk_usage(data_dir or Path.cwd()).free
