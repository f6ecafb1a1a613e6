"""Settings that follow their files: whoever renews a certificate only writes them.

Nobody watches the files: who asks for the settings has a look at them first. Files that can't be
used are reported once, and what was made before stays: a certificate and its key are seldom written
in one moment.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from reference_broker.errors import BadConfiguration

_log = logging.getLogger(__name__)

Made = TypeVar("Made")

_Stamp = tuple[tuple[int, int, int], ...]
"""Of each file: modification time in ns, size, and inode (a rename may keep the time)."""


class Renewed(Generic[Made]):
    """The product of ``make``, which reads ``files``, the certificate first; made anew when they
    have changed. Raises the :exc:`BadConfiguration` of ``make``, as it is made; never later. For
    any thread."""

    def __init__(self, files: Sequence[Path], make: Callable[[], Made]) -> None:
        self._files = tuple(files)
        self._make = make
        self._lock = Lock()
        self._told = ""
        self._stamp = self._stamp_of_files()
        self._made = make()

    @property
    def in_use(self) -> Made:
        """The last product; the files are not looked at."""
        return self._made

    def current(self) -> Made:
        """The product of the files as they are, where they can be used. Blocks for as long as they
        are read."""
        with self._lock:
            stamp = self._stamp_of_files()
            if stamp != self._stamp:
                self._renew(stamp)
            return self._made

    def _renew(self, stamp: _Stamp) -> None:
        try:
            self._made = self._make()
        except BadConfiguration as error:
            # Tried again by every connection: what is wrong may be a clock, or end with a chmod.
            if str(error) != self._told:
                _log.error("%s (the TLS files before it stay in use)", error)
            self._told = str(error)
        else:
            self._stamp, self._told = stamp, ""
            _log.info("TLS: %s and what belongs to it were renewed", self._files[0])

    def _stamp_of_files(self) -> _Stamp:
        return tuple(map(_stamp_of, self._files))


def _stamp_of(path: Path) -> tuple[int, int, int]:
    """The stamp of one file. Zeros for one that is not there: renewing may take it away for a
    moment."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino
