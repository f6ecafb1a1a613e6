"""Writing a damaged segment anew: its acks of entries elsewhere are carried on, from any source."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from reference_broker.store.disk.ports import RenameFile, Write
from reference_broker.store.doctor.contents import alive_in, look, positions_of, read_messages
from reference_broker.store.doctor.salvage import plan_salvage, write_salvage
from reference_broker.store.format.footer import read_footer
from reference_broker.store.format.record import RecordType
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.rewrite.copy_file import CopyFailed

A, B = 7, 8


@pytest.fixture
def referring(new_store: Any) -> Any:
    """A disk whose second segment acks and moves messages of the first, and defines a queue."""
    store = new_store(segment_bytes=2317)
    store.define(A, "a")
    for number in range(8):
        store.publish(b"%d " % number + b"x" * 60, A)
    store.sync()
    store.publish(b"the second one" + b"y" * 800, A)
    store.define(B, "b")
    store.ack(A, 1, 2, 4)
    store.move(A, 6, B, b"moved")
    store.ack(B, 1)  # so that only the MOVE record itself, which is dead, names its source
    store.sync()
    store.publish(b"the third one" + b"z" * 900, B)
    store.sync()
    store.close()
    assert len(store.disk.segments) == 3
    return store.disk


def salvage_second(disk: Any) -> Any:
    recovered = look(disk)
    use = list(recovered.liveness)[1]
    salvage = plan_salvage(disk, recovered, use, ())
    write_salvage(salvage, disk)
    disk.perform(RenameFile(salvage.plan.name.copy_file, salvage.plan.name.file))
    del disk.files[use.name.file]
    return salvage


@pytest.mark.parametrize("footer_is_sound", [True, False])
def test_acks_and_moves_of_entries_elsewhere_are_kept(
    referring: Any, read_back: Any, footer_is_sound: bool
) -> None:
    before = read_back(referring)
    assert sorted(before) == [(A, 3), (A, 5), (A, 7), (A, 8), (A, 9), (B, 2)]
    file = referring.segments[1]
    if not footer_is_sound:
        referring.flip(file, len(referring.files[file]) - 1)
    salvage = salvage_second(referring)
    first = SegmentName.parse(referring.segments[0])
    assert first is not None
    (base,) = salvage.foreign_ranges
    assert base == first.base
    assert list(salvage.foreign_ranges[base].acked) == [(A, 1, 2), (A, 4, 4), (A, 6, 6)]
    assert read_back(referring) == before
    recovered = look(referring)
    assert not recovered.damage.damaged
    assert base in list(recovered.liveness)[1].references


def test_definitions_go_along_and_the_footer_points_to_them(referring: Any) -> None:
    definitions = look(referring).definitions
    salvage = salvage_second(referring)
    footer = read_footer(referring, salvage.plan.name, salvage.plan.checksum)
    assert footer is not None
    kinds = [RecordType.CENSUS, RecordType.DEFINE, RecordType.DEFINITIONS]
    assert [payload[0] for payload in salvage.noted] == kinds
    assert len(footer.notes) == len(kinds)
    assert look(referring).definitions == definitions
    assert look(referring, trust_footers=False).definitions == definitions


def test_what_cannot_be_read_is_left_out(closed_disk: Any, read_back: Any) -> None:
    before = read_back(closed_disk)
    recovered = look(closed_disk)
    use = next(each for each in recovered.liveness if each.live_bytes)
    file = use.name.file
    closed_disk.flip(file, closed_disk.files[file].index(b"to both"))
    entries = alive_in(recovered, use)
    read = read_messages(closed_disk, use.source(), positions_of(entries))
    bad = [found.position for found in read if found.content is None]
    assert len(bad) == 1
    salvage = plan_salvage(closed_disk, recovered, use, bad)
    kept = sum(len(columns.sequences) for columns in salvage.plan.entries)
    assert kept < sum(len(columns.sequences) for columns in entries)
    write_salvage(salvage, closed_disk)
    closed_disk.perform(RenameFile(salvage.plan.name.copy_file, salvage.plan.name.file))
    assert read_back(closed_disk).items() < before.items()


def test_a_full_disk_leaves_no_copy(referring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recovered = look(referring)
    salvage = plan_salvage(referring, recovered, list(recovered.liveness)[1], ())
    perform = referring.perform

    def full(operation: Any) -> None:
        if isinstance(operation, Write):
            raise OSError(errno.ENOSPC, "no room")
        perform(operation)

    monkeypatch.setattr(referring, "perform", full)
    with pytest.raises(CopyFailed):
        write_salvage(salvage, referring)
    assert salvage.plan.name.copy_file not in referring.files
