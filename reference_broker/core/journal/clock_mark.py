"""The clock mark: a time in the log that is not below the due time of any delayed message that the
broker has released.

A message that was released may be back after a loss of power, and the clock of the new process may
be behind its due time: somebody set it back, or the machine has no battery for it. So the clock
alone doesn't tell a start which messages may have left. The mark does: what is due is released when
a mark on the disk covers its due time, and not before (:meth:`ClockMark.allows`).

It is raised ahead of the clock, when something is due soon that it doesn't cover. So it costs one
record in some seconds while delays end, and nothing waits for its sync but what is due sooner than
a sync takes, or was overdue at a start. The price is that what is due up to :data:`STEP_MS` after
an unclean stop counts as released, too. It is one definition::

    ~clock/mark    | 1 | wall ms u64 |

For an earlier version to pass over it does no harm: it goes by the clock alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from reference_broker.core.base.moment import Moment
from reference_broker.core.journal.definition_keys import CLOCK
from reference_broker.core.journal.journal import Journal
from reference_broker.errors import Corrupt

STEP_MS = 10_000
"""The mark is raised to so much after the clock."""

AHEAD_MS = 2_000
"""It is raised this long before it is needed: a busy disk syncs in less."""

VERSION = 1

KEY = f"{CLOCK}/mark"

_VALUE = struct.Struct(">BQ")


def encode_mark(wall_ms: int) -> bytes:
    """The value of the definition :data:`KEY`."""
    return _VALUE.pack(VERSION, wall_ms)


class ClockMark:
    """The mark of one broker. ``restored_ms`` is the one that the start found, 0 for none: what was
    due up to then may have left before."""

    __slots__ = ("_covered_ms", "_journal", "_logged_ms", "_moment", "_position", "_waiting",
                 "restored_ms")  # fmt: skip

    def __init__(self, journal: Journal, moment: Moment) -> None:
        self._journal = journal
        self._moment = moment
        self._logged_ms = 0
        self._position = 0
        """The log's position behind the mark."""
        self._covered_ms = 0
        self._waiting: dict[Callable[[], None], None] = {}
        self.restored_ms = 0

    def restore(self, definitions: Mapping[str, bytes]) -> None:
        """Recovery: take up the mark that the log has, if any. Raises :exc:`Corrupt`."""
        value = definitions.get(KEY)
        if value is None:
            return
        if len(value) != _VALUE.size or value[0] != VERSION:
            raise Corrupt(f"the clock mark can't be read: {value[:16].hex()}")
        _, self.restored_ms = _VALUE.unpack(value)
        self._logged_ms = self._covered_ms = self.restored_ms

    def prepare(self, due_ms: int) -> int:
        """Something is due at that wall ms: raise the mark, if it has to be now. Returns when to
        come again: at ``due_ms``, or ahead of it to call this once more."""
        if due_ms > self._logged_ms - AHEAD_MS:  # what is due next may be behind the mark already
            if due_ms > self._moment.wall_ms + AHEAD_MS:
                return due_ms - AHEAD_MS
            self._raise()
        return due_ms

    def allows(self, due_ms: int, callback: Callable[[], None]) -> bool:
        """True when what is due at that wall ms, which is over, may leave: the mark on the disk is
        not below. Else ``callback`` is called once, within the later input with which it may; the
        same one may be given again meanwhile."""
        if due_ms <= self._covered_ms:
            return True
        if due_ms > self._logged_ms:
            self._raise()
        self._note_synced()
        if due_ms <= self._covered_ms:
            return True
        self._waiting[callback] = None
        return False

    def synced(self) -> None:
        """The log was synced: call those that wait, if it is far enough."""
        if self._waiting and self._position <= self._journal.synced:
            waiting, self._waiting = self._waiting, {}
            for callback in waiting:
                callback()

    def _raise(self) -> None:
        self._note_synced()
        self._logged_ms = self._moment.wall_ms + STEP_MS
        self._journal.define(KEY, encode_mark(self._logged_ms))
        self._position = self._journal.tail

    def _note_synced(self) -> None:
        if self._position <= self._journal.synced:
            self._covered_ms = self._logged_ms
