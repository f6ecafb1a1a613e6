from __future__ import annotations

import errno

import pytest

from reference_broker.simulation.disk.disk import FREE_BYTES
from reference_broker.simulation.disk.power import PowerCut, PoweredDisk
from reference_broker.store.disk.ports import CreateFile, CreateSpare, Sync, Write
from reference_broker.store.format.segment import COPY_SUFFIX


def test_the_power_fails_in_place_of_the_named_operation_and_once() -> None:
    disk = PoweredDisk()
    disk.cut_power_at(2)
    disk.perform(CreateFile("a", 10))
    with pytest.raises(PowerCut):
        disk.perform(CreateFile("b", 10))
    assert disk.list_files() == ["a"]
    disk.perform(CreateFile("b", 10))


def test_it_may_be_called_off() -> None:
    disk = PoweredDisk()
    disk.cut_power_at(1)
    disk.keep_power()
    disk.perform(CreateFile("a", 10))


def test_a_full_disk_takes_writes_but_no_new_file() -> None:
    disk = PoweredDisk()
    disk.perform(CreateFile("a", 10))
    disk.full = True
    disk.perform(Write("a", 0, [b"x"]))
    disk.perform(Sync("a"))
    with pytest.raises(OSError, match="full") as failed:
        disk.perform(CreateFile("b", 10))
    assert failed.value.errno == errno.ENOSPC
    disk.full = False
    disk.perform(CreateFile("b", 10))


def test_a_full_disk_lets_no_file_grow() -> None:
    disk = PoweredDisk()
    disk.perform(CreateFile("a", 0))
    disk.full = True
    for operation in (Write("a", 0, [b"x"]), CreateSpare("b", 1)):
        with pytest.raises(OSError, match="full"):
            disk.perform(operation)


def test_one_file_can_not_be_read_for_a_while() -> None:
    disk = PoweredDisk()
    for file in "ab":
        disk.perform(CreateFile(file, 4))
    disk.unreadable = "a"
    assert disk.read_range("b", 0, 4) == bytes(4)
    with pytest.raises(OSError, match="failure of a read") as failed:
        disk.read_range("a", 0, 4)
    assert failed.value.errno == errno.EIO
    disk.unreadable = ""
    assert disk.read_range("a", 0, 4) == bytes(4)
    assert disk.failed_reads == 1


def test_all_files_together_have_so_much_room() -> None:
    disk = PoweredDisk(capacity_bytes=10)
    disk.perform(CreateFile("a", 8))
    for operation in (CreateFile("b", 3), CreateSpare("b", 3), Write("a", 8, [b"xyz"])):
        with pytest.raises(OSError, match="full"):
            disk.perform(operation)
    disk.perform(CreateFile("b", 2))


def test_the_next_operation_on_a_copy_fails_and_no_other() -> None:
    disk = PoweredDisk()
    disk.fail_next_copy()
    disk.perform(CreateFile("a.segment", 10))
    copy = f"a{COPY_SUFFIX}"
    with pytest.raises(OSError, match="can't write"):
        disk.perform(CreateFile(copy, 10))
    disk.perform(CreateFile(copy, 10))
    assert sorted(disk.list_files()) == sorted(["a.segment", copy])


def test_a_disk_has_plenty_free_unless_it_is_full_or_has_an_end() -> None:
    disk = PoweredDisk()
    assert disk.free_bytes() == FREE_BYTES
    disk.full = True
    assert disk.free_bytes() == 0
    small = PoweredDisk(capacity_bytes=15)
    small.perform(CreateFile("a", 10))
    assert small.free_bytes() == 5
