"""The log: arbitrary files, and files that were sound until something was written over them."""

from __future__ import annotations

from functools import cache

from fuzz.target import Target
from reference_broker.errors import StoreError
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import open_log
from reference_broker.store.disk.ports import CreateFile, Sync, SyncDirectory, Write
from reference_broker.store.doctor.contents import look
from reference_broker.store.format.segment import HEADER_BYTES
from reference_broker.testing.lone_log import opened, pump, segments, sequences

QUEUE_ID = 7
MESSAGES = 8
SEGMENT_BYTES = 4096


@cache
def _sound() -> tuple[str, bytes, tuple[int, ...]]:
    """A log in one segment: its name, its bytes, and where each message's records end."""
    log, disk, queues = opened(SEGMENT_BYTES)
    file = segments(disk)[-1]
    ends = []
    for _ in range(MESSAGES):
        queues.publish(50, (QUEUE_ID,))
        pump(log, disk)
        ends.append(log.tail)
    assert segments(disk) == [file]
    return file, bytes(disk.read(file)), tuple(ends)


def _disk(data: bytes) -> SimulatedDisk:
    file, _, _ = _sound()
    disk = SimulatedDisk()
    for operation in (
        CreateFile(file, len(data)), Write(file, 0, [data]), Sync(file), SyncDirectory()
    ):  # fmt: skip
        disk.perform(operation)
    return disk


def _open(disk: SimulatedDisk) -> bool:
    """Does it open? Then a second start finds what the first one has."""
    try:
        for trust_footers in (True, False):
            look(disk, trust_footers=trust_footers)
        open_log(disk, segment_bytes=SEGMENT_BYTES)
    except StoreError:
        return False
    found = sequences(disk, QUEUE_ID)
    open_log(disk, segment_bytes=SEGMENT_BYTES)
    assert sequences(disk, QUEUE_ID) == found, "the second start finds something else"
    return True


def check(data: bytes) -> None:
    """The bytes are a segment; and behind two bytes that say where, they stand over a sound one,
    in which everything before has to be found again."""
    _open(_disk(data))
    _, whole, ends = _sound()
    at = HEADER_BYTES + int.from_bytes(data[:2], "big") % (max(ends) - HEADER_BYTES)
    damaged = whole[:at] + data[2:] + whole[at + len(data[2:]) :]
    disk = _disk(damaged[: len(whole)])
    if _open(disk):
        kept = sum(end <= at for end in ends)
        found = sequences(disk, QUEUE_ID)
        assert found[:kept] == list(range(found[0], found[0] + kept)) if kept else True
        assert len(found) >= kept, f"{len(found)} of {kept} messages before byte {at}"


def seeds() -> list[bytes]:
    _, whole, ends = _sound()
    return [whole[: ends[-1]], b"\1\0" + whole[HEADER_BYTES : ends[2]], bytes(12)]


TARGET = Target("segments", check, seeds)
