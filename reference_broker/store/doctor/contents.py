"""The messages of a log, read one after another in log order: for looking and saving, not for
serving. A segment's entries are in memory at a time, and one message."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from reference_broker.core.index.index import EntryState
from reference_broker.core.journal.journal import EntryColumns
from reference_broker.core.message.content import Content
from reference_broker.store.disk.ports import Disk
from reference_broker.store.format.footer import alive
from reference_broker.store.format.read_window import FileEnds, ReadWindow
from reference_broker.store.liveness.liveness import SegmentUse
from reference_broker.store.liveness.rewrite_plan import Source
from reference_broker.store.log.reading import MessageLost, read_message
from reference_broker.store.start.recovered import RecoveredLog
from reference_broker.store.start.recovery import recover


class ReadMessage(NamedTuple):
    """The message at a log position, or the reason that it can't be read."""

    position: int
    offset: int
    """In the file."""
    content: Content | None
    """``None`` when it can't be read."""
    reason: str
    """Empty where it can be read."""


class StoredMessage(NamedTuple):
    """A message in one queue."""

    queue_id: int
    sequence: int
    redelivered: bool
    file: str
    offset: int
    position: int
    content: Content | None
    reason: str


class _Entry(NamedTuple):
    position: int
    queue_id: int
    sequence: int
    redelivered: bool


def read_messages(disk: Disk, source: Source, positions: Sequence[int]) -> Iterator[ReadMessage]:
    """The messages at ``positions``, which rise. Raises ``FileNotFoundError`` when the file is
    gone; any other error of the disk becomes the ``reason`` of the messages that it concerns."""
    places = [source.place(position) for position in positions]
    window = ReadWindow(disk, source.name.file, [place.offset for place in places])
    for position, place in zip(positions, places, strict=True):
        try:
            yield ReadMessage(position, place.offset, read_message(window, place, position), "")
        except FileNotFoundError:
            raise
        except (MessageLost, FileEnds, OSError) as error:
            yield ReadMessage(position, place.offset, None, str(error))


def look(disk: Disk, *, trust_footers: bool = True) -> RecoveredLog:
    """The log that a start would recover; nothing is changed. Raises as :func:`recover` does.

    A rewritten segment whose header is damaged doesn't say how far it covers the log: it is up to
    the next segment that there is, or should be."""
    recovered = recover(disk, trust_footers=trust_footers)
    bounds = sorted({*recovered.liveness.bases, *recovered.damage.missing_segments})
    for use in recovered.liveness:
        above = bisect_right(bounds, use.base)
        if use.name.generation:
            use.end = bounds[above] if above < len(bounds) else max(use.end, recovered.tail)
    return recovered


def alive_in(recovered: RecoveredLog, use: SegmentUse) -> list[EntryColumns]:
    """The entries that are alive in a segment, for each queue."""
    return alive(recovered, recovered.queues, use.base, use.end)


def positions_of(entries: Sequence[EntryColumns]) -> list[int]:
    """The log positions of ``entries``, in order, each once: a fan-out has one for all queues."""
    return sorted({position for columns in entries for position in columns.positions})


def stored_messages(
    disk: Disk, recovered: RecoveredLog, queue_ids: Collection[int] | None = None
) -> Iterator[StoredMessage]:
    """Every live message, or those of some queues, in log order; once for each queue that has it.
    Raises as :func:`read_messages` does."""
    for use in recovered.liveness:
        entries = alive_in(recovered, use)
        if queue_ids is not None:
            entries = [columns for columns in entries if columns.queue_id in queue_ids]
        found = sorted(entry for columns in entries for entry in _rows(columns))
        messages = read_messages(disk, use.source(), positions_of(entries))
        shared = groupby(found, key=lambda entry: entry.position)
        for message, (_, group) in zip(messages, shared, strict=True):
            for entry in group:
                yield StoredMessage(
                    entry.queue_id,
                    entry.sequence,
                    entry.redelivered,
                    use.name.file,
                    message.offset,
                    message.position,
                    message.content,
                    message.reason,
                )


def _rows(columns: EntryColumns) -> Iterator[_Entry]:
    rows = zip(columns.positions, columns.sequences, columns.states, strict=True)
    for position, sequence, state in rows:
        redelivered = state == EntryState.REDELIVERED
        yield _Entry(position, columns.queue_id, sequence, redelivered)
