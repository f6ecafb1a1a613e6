"""The law of disk use: a bound for the log's files once nothing happens any more, and that none is
left behind.

The law: twice the live bytes (a message counts whole as long as one of its queues has it), and two
segments (the one in use and the spare one) of the usual size or of the largest message with its
reserve (:mod:`reference_broker.store.log.free_space`). It is about messages, and segments of
16 MiB; in the small ones here what comes beside them counts too, so this allows for

- what is said about other segments and is needed still, as for live bytes: a segment that is less
  than half needed is rewritten;
- what one entry takes at most beside its record, in a rewritten segment: the EXTENT that leads its
  record in, its lines in the footer's tables, a REQUEUE, and an ACK for each other queue that is
  done with the same message;
- what a file has beside its records: header, SEALED, the heads of the footer and of each of its
  groups, the trailer; and what keeps small ones from being merged (seven may lie between others);
- definitions, which are written again only when that sets free more than twice what it costs.
"""

from __future__ import annotations

from reference_broker.simulation.events.events import DiskUse, Message
from reference_broker.simulation.watch.checkers.checker import Checker
from reference_broker.store.format.footer import (
    END_ROOM,
    ENTRY_ROOM,
    FOOTER_RANGE_BYTES,
    FOREIGN_RANGES_ROOM,
    GROUP_ROOM,
)
from reference_broker.store.format.record import EXTENT_BYTES, RANGE_BYTES, RANGES_HEAD_BYTES
from reference_broker.store.format.segment import HEADER_BYTES
from reference_broker.store.log.free_space import RESERVES_PER_SEGMENT

_EXTENT_TABLE_BYTES = 8 + 4 + 2
_ORIGIN_BYTES = 13

ENTRY_BYTES = (
    ENTRY_ROOM + EXTENT_BYTES + _EXTENT_TABLE_BYTES + 2 * (RANGE_BYTES + FOOTER_RANGE_BYTES)
)
FILE_BYTES = HEADER_BYTES + END_ROOM + 4 * RANGES_HEAD_BYTES + FOREIGN_RANGES_ROOM + _ORIGIN_BYTES
SNAPSHOTS = 4
"""Snapshots that there may be: the newest, one that may wait to be set free, and one that is not
worth replacing."""

RECORD_BYTES = 1_024
"""Bytes that a message takes at most beside its body, its place in the footer included."""


class DiskUseChecker(Checker):
    name = "disk use"

    def __init__(self, segment_bytes: int, body_max_bytes: int = 0) -> None:
        """``body_max_bytes`` is the largest body that anybody but the clients may publish."""
        self._beside_bytes = RECORD_BYTES + segment_bytes // RESERVES_PER_SEGMENT
        self._largest_bytes = max(segment_bytes, body_max_bytes + self._beside_bytes)

    def published(self, message: Message) -> None:
        self._largest_bytes = max(self._largest_bytes, message.size + self._beside_bytes)

    def rested(self, use: DiskUse) -> None:
        if use.strangers:
            raise self.fail(f"files that nobody knows are left: {', '.join(use.strangers)}")
        if use.rotten:
            return
        allowed_bytes = (
            2 * (use.live_bytes + use.foreign_bytes + self._largest_bytes)
            + use.entries * ENTRY_BYTES
            + use.files * (FILE_BYTES + use.queues * GROUP_ROOM)
            + SNAPSHOTS * use.definition_bytes
        )
        if use.size_bytes > allowed_bytes:
            raise self.fail(
                f"the log takes {use.size_bytes} bytes in {use.files} segments for "
                f"{use.live_bytes} live bytes of {use.entries} messages: {allowed_bytes} are "
                "allowed"
            )
