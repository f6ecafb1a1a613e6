"""Reading messages back: a queue's request as a job for a thread that has a disk.

    take_reads (the loop) -> perform (a thread) -> the answer (the loop)

A queue asks for messages in its own order, which is nearly that of the log. So a job reads files in
long pieces and cuts the messages out of them. A job knows places and not segments: when a file was
rewritten or deleted in the meantime, :exc:`FileGone` is raised, and it is planned anew.

Every message is verified. One that is damaged is answered with ``None``, and the others come.
:func:`lost` tells it from one that was settled meanwhile.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from reference_broker.core.base.octet_block import OctetBlock
from reference_broker.core.journal.journal import Fetched
from reference_broker.core.message.content import NOT_STORED, Body, Content
from reference_broker.errors import ReferenceBrokerError
from reference_broker.store.disk.damage import DAMAGE
from reference_broker.store.disk.ports import Disk
from reference_broker.store.format import record
from reference_broker.store.format.checksum import Checksum, ChecksumKind, checksum_of
from reference_broker.store.format.chunks import ChunkDamaged, verified_chunks
from reference_broker.store.format.extents import Place
from reference_broker.store.format.read_window import GAP_BYTES, FileEnds, ReadWindow
from reference_broker.store.format.record import (
    CHUNK_OVERHEAD_BYTES,
    ENTRY,
    FRAME,
    FRAME_BYTES,
    MESSAGES,
    PUBLISH_HEAD,
    Message,
    RecordType,
    decode_message,
    stored_share,
)
from reference_broker.store.liveness.fetch_request import FetchRequest
from reference_broker.store.liveness.rewrite_plan import Source
from reference_broker.store.log.log import Log
from reference_broker.store.log.pages import PAGE_HEAD, PagePlace, Pages

_MASK = 0xFFFFFFFF
_PUBLISH = int(RecordType.PUBLISH)
_FRAMED_PUBLISH = struct.Struct(FRAME.format + PUBLISH_HEAD.format.removeprefix(">"))
"""The frame and the head of a PUBLISH, in one go."""


class FileGone(ReferenceBrokerError):
    """``file`` isn't there any more: its messages are in another file, or gone."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file


class Unreadable(NamedTuple):
    """A message that can't be had: its record is damaged, or the disk can't read it."""

    sequence: int
    position: int
    reason: str


class ReadOutcome(NamedTuple):
    fetched: Fetched
    unreadable: list[Unreadable]


class _Part(NamedTuple):
    """Messages of one segment."""

    source: Source
    sequences: array[int]
    positions: array[int]


class _Row(NamedTuple):
    """Messages that lie ``shift`` bytes before their positions, in one file, and are verified with
    the same seed."""

    sequences: array[int]
    positions: array[int]
    shift: int
    seed: int
    checksum: ChecksumKind


@dataclass(slots=True)
class ReadJob:
    """The reads for one request. ``gone`` are files that were not there at an earlier try."""

    request: FetchRequest
    gone: frozenset[str]
    parts: list[_Part] = field(default_factory=list)
    paged: list[tuple[PagePlace, int, int]] = field(default_factory=list)
    in_memory: dict[int, Content] = field(default_factory=dict)
    missing: list[Unreadable] = field(default_factory=list)


def take_reads(log: Log) -> list[ReadJob]:
    """The jobs for all requests whose messages are on disk already; the others stay in
    ``log.fetches``. Perform each, or :func:`plan` its request again."""
    if not log.fetches:
        return []
    ready: list[FetchRequest] = []
    waiting: list[FetchRequest] = []
    for request in log.fetches:
        on_disk = max(request.positions, default=NOT_STORED) < log.synced
        (ready if on_disk else waiting).append(request)
    log.fetches[:] = waiting
    return [plan(request, log) for request in ready]


def plan(request: FetchRequest, log: Log, gone: frozenset[str] = frozenset()) -> ReadJob:
    """The reads for ``request``, by the places of its messages just now. If a file of ``gone``
    should still have some, somebody else took it away: they are damaged."""
    job = ReadJob(request, gone)
    sequences, positions = request.sequences, request.positions
    start = 0
    while start < len(positions):
        position = positions[start]
        end = start + 1
        if position <= NOT_STORED:
            _plan_page(job, log.pages, sequences[start], position)
        elif (source := log.source_of(position)) is None:
            # Only a message that was settled meanwhile: its queue doesn't want it any more.
            job.missing.append(Unreadable(sequences[start], position, ""))
        else:
            base, source_end = source.name.base, source.end
            while end < len(positions) and base <= positions[end] < source_end:
                end += 1
            part = _Part(source, sequences[start:end], positions[start:end])
            if source.name.file in gone:
                job.missing += map(_gone, part.sequences, part.positions)
            else:
                job.parts.append(part)
        start = end
    return job


def _plan_page(job: ReadJob, pages: Pages, sequence: int, position: int) -> None:
    found = pages.find(position)
    if isinstance(found, Content):
        job.in_memory[sequence] = found
    elif found is None:
        job.missing.append(Unreadable(sequence, position, ""))
    elif found.file in job.gone:
        job.missing.append(_gone(sequence, position))
    else:
        job.paged.append((found, sequence, position))


def _gone(sequence: int, position: int) -> Unreadable:
    return Unreadable(sequence, position, "the file is gone")


def perform(disk: Disk, job: ReadJob) -> ReadOutcome:
    """Read and verify. The messages that an error of the medium concerns are unreadable. Raises
    :exc:`FileGone`, and any other ``OSError`` as the disk gives it: try again later."""
    contents: dict[int, Content | None] = dict(job.in_memory)
    unreadable = [each for each in job.missing if each.reason]
    for part in job.parts:
        _read_part(disk, part, contents, unreadable)
    for _, group in groupby(sorted(job.paged), key=lambda each: each[0].file):
        _read_page(disk, list(group), contents, unreadable)
    sequences = job.request.sequences
    answers = list(zip(sequences, map(contents.get, sequences), strict=True))
    return ReadOutcome(Fetched(job.request.queue_id, answers), unreadable)


def lost(log: Log, outcome: ReadOutcome) -> list[Unreadable]:
    """The messages of ``outcome`` that are damaged and wanted: their segments are put aside from
    now on. One that was settled while it was read may be nowhere any more: a rewriting leaves it
    out."""
    entries, queue_id = log.entries(), outcome.fetched.queue_id
    damaged = []
    for each in outcome.unreadable:
        position = each.position
        if position < 0 or any(entries.live_entries(queue_id, position, position + 1)):
            log.damaged(position)
            damaged.append(each)
    return damaged


class MessageLost(ReferenceBrokerError):
    """This message can't be had."""


def _read_part(
    disk: Disk,
    part: _Part,
    contents: dict[int, Content | None],
    unreadable: list[Unreadable],
) -> None:
    """Messages of one segment: a plain one, mostly, where their places need no looking up."""
    source = part.source
    name = source.name
    if source.extents is None:
        wanted = [position - name.base for position in part.positions]
        window = ReadWindow(disk, name.file, sorted(wanted))
        row = _Row(part.sequences, part.positions, name.base, name.seed, source.checksum)
        _read_row(window, row, contents, unreadable)
        return
    found = []
    for sequence, position in zip(part.sequences, part.positions, strict=True):
        try:
            found.append((sequence, position, source.place(position)))
        except KeyError:
            unreadable.append(Unreadable(sequence, position, f"{name.file}: it is not there"))
    window = ReadWindow(disk, name.file, sorted(place.offset for _, _, place in found))
    for (shift, seed, kind), group in groupby(found, key=_moved):
        together = list(group)
        sequences = array("Q", [sequence for sequence, _, _ in together])
        positions = array("q", [position for _, position, _ in together])
        _read_row(window, _Row(sequences, positions, shift, seed, kind), contents, unreadable)


def _moved(found: tuple[int, int, Place]) -> tuple[int, int, ChecksumKind]:
    """The key that messages of the same extent have in common."""
    _, position, place = found
    return position - place.offset, place.seed, place.checksum


def _read_row(
    window: ReadWindow,
    row: _Row,
    contents: dict[int, Content | None],
    unreadable: list[Unreadable],
) -> None:
    """Draining a backlog is one turn of this for each message: a small message that was read as a
    whole and is sound is cut out right here (1 us less than by calls). :func:`_message` has the
    others, and the last word on what looks damaged."""
    shift, seed = row.shift, row.seed
    checksum = checksum_of(row.checksum)
    unpack, head_bytes = _FRAMED_PUBLISH.unpack_from, _FRAMED_PUBLISH.size
    chunk_bytes = record.CHUNK_BYTES
    data, start = window.data, window.start + shift
    last_head = len(data) - head_bytes
    for sequence, position in zip(row.sequences, row.positions, strict=True):
        at = position - start
        if 0 <= at <= last_head:
            length, expected, kind, count, route_bytes, header_bytes, body_bytes = unpack(data, at)
            end = at + FRAME_BYTES + length
            if kind == _PUBLISH and body_bytes <= chunk_bytes and end <= len(data):
                found = checksum(data[at + FRAME_BYTES : end], seed ^ (position & _MASK))
                if found == expected:
                    route_at = at + head_bytes + count * ENTRY.size
                    header_at = route_at + route_bytes
                    body_at = header_at + header_bytes
                    contents[sequence] = Content(
                        data[route_at:header_at],
                        data[header_at:body_at],
                        data[body_at:end],
                        position,
                        (end - at) // count,
                    )
                    continue
        try:
            contents[sequence] = _message(window, position - shift, seed, checksum, position)
        except FileNotFoundError as error:
            raise FileGone(window.file) from error
        except (MessageLost, FileEnds, OSError) as error:
            if isinstance(error, OSError) and error.errno not in DAMAGE:
                raise
            unreadable.append(Unreadable(sequence, position, f"{window.file}: {error}"))
        data, start = window.data, window.start + shift
        last_head = len(data) - head_bytes


def _read_page(
    disk: Disk,
    wanted: Sequence[tuple[PagePlace, int, int]],
    contents: dict[int, Content | None],
    unreadable: list[Unreadable],
) -> None:
    """Messages of one page, in order of offset."""
    file = wanted[0][0].file
    window = ReadWindow(disk, file, [place.offset for place, _, _ in wanted])
    for place, sequence, position in wanted:
        try:
            contents[sequence] = _paged(window, place, position)
        except FileNotFoundError as error:
            raise FileGone(file) from error
        except (MessageLost, FileEnds, OSError) as error:
            if isinstance(error, OSError) and error.errno not in DAMAGE:
                raise
            unreadable.append(Unreadable(sequence, position, f"{file}: {error}"))


def read_message(window: ReadWindow, place: Place, position: int) -> Content:
    """The message of a PUBLISH or MOVE. Raises :exc:`MessageLost`, and as the window does."""
    return _message(window, place.offset, place.seed, checksum_of(place.checksum), position)


def _message(
    window: ReadWindow, offset: int, seed: int, checksum: Checksum, position: int
) -> Content:
    expected, payload = window.frame(offset)
    if not payload:
        raise MessageLost("no record is there")
    if checksum(payload, seed ^ (position & _MASK)) != expected:
        raise MessageLost("its checksum is wrong")
    if payload[0] not in MESSAGES:
        raise MessageLost("another record is there")
    size = FRAME_BYTES + len(payload)
    message = decode_message(payload)
    body: Body = message.body
    if message.chunks:
        body, size = _chunks(window, offset, seed, checksum, position, size, message)
    share = stored_share(size, message.entries)
    return Content(message.route, message.header, body, position, share)


def _chunks(
    window: ReadWindow,
    offset: int,
    seed: int,
    checksum: Checksum,
    position: int,
    at: int,
    message: Message,
) -> tuple[Body, int]:
    """A large body, out of the records that begin ``at`` bytes behind its message; and the offset
    of their end."""
    body = OctetBlock()
    chunks = verified_chunks(
        window, offset + at, position + at, seed, checksum, message.body_length
    )
    try:
        for chunk in chunks:
            body.append(chunk[CHUNK_OVERHEAD_BYTES:])
            at += len(chunk)
    except ChunkDamaged as damage:
        raise MessageLost(str(damage)) from None
    return body.whole(), at


def _paged(window: ReadWindow, place: PagePlace, position: int) -> Content:
    """A message of a page."""
    head = window.take(place.offset, PAGE_HEAD.size)
    route_length, header_length, body_length, expected = PAGE_HEAD.unpack(head)
    header_at = place.offset + PAGE_HEAD.size
    body_at = header_at + route_length + header_length
    header = bytes(window.take(header_at, route_length + header_length))
    body: bytes | memoryview
    if body_length > GAP_BYTES:
        body = window.alone(body_at, body_length)
    else:
        body = window.take(body_at, body_length)
    checksum = checksum_of(place.checksum)
    if checksum(body, checksum(header, place.seed)) != expected:
        raise MessageLost("its checksum is wrong")
    return Content(header[:route_length], header[route_length:], bytes(body), position)
