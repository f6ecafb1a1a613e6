"""The disk use of a log: its files, and the bytes that it needs of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from reference_broker.core.broker import Broker
from reference_broker.simulation.disk.bookkeeping import all_queues
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.disk.inspection import index_of
from reference_broker.simulation.events.events import DiskUse, Indexed
from reference_broker.store import Log
from reference_broker.store.doctor.contents import read_messages
from reference_broker.store.format.segment import QUARANTINE_SUFFIX, SPARE_FILE
from reference_broker.store.liveness.liveness import SegmentUse


def disk_use_of(log: Log, broker: Broker, disk: SimulatedDisk) -> DiskUse:
    """The disk use of ``log``, which is at rest."""
    books = list(log._liveness)
    known = {use.name.file for use in books} | {SPARE_FILE}
    pages = {page.file for page in log.pages._pages}
    strangers = sorted(
        file
        for file in disk.list_files()
        if file not in known and file not in pages and not file.endswith(QUARANTINE_SUFFIX)
    )
    entries = [each for entries in index_of(broker).values() for each in entries]
    return DiskUse(
        size_bytes=sum(disk.size(file) for file in disk.list_files() if file in known),
        live_bytes=_live_bytes(books, entries, disk),
        foreign_bytes=sum(use.foreign_bytes for use in books),
        entries=len(entries),
        files=len(books),
        queues=len(all_queues(broker)),
        definition_bytes=log._definitions.snapshot_bytes,
        strangers=tuple(strangers),
        rotten=any(use.damaged for use in books),
    )


def _live_bytes(
    books: Iterable[SegmentUse], entries: Iterable[Indexed], disk: SimulatedDisk
) -> int:
    """Bytes of the messages that are in a queue. Each counts whole: the last of its queues needs
    its record as all of them did."""
    shares: dict[int, int] = {}
    for entry in entries:
        shares[entry.position] = shares.get(entry.position, 0) + entry.stored
    positions = sorted(shares)
    live_bytes = 0
    for use in books:
        inside = positions[bisect_left(positions, use.base) : bisect_left(positions, use.end)]
        for message in read_messages(disk, use.source(), inside):
            content, whole_bytes = message.content, 0
            if content is not None:
                whole_bytes = len(content.route) + len(content.header) + len(content.body)
            live_bytes += max(shares[message.position], whole_bytes)
    return live_bytes
