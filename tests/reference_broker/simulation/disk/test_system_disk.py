from __future__ import annotations

from random import Random

import pytest

from reference_broker.errors import DataDirectoryLocked
from reference_broker.runtime.disk.data_folder import DataFolder
from reference_broker.simulation.disk.system_disk import SystemDisk
from reference_broker.store import open_log
from reference_broker.store.disk.ports import CreateFile, SyncDirectory, Write

SEGMENT_BYTES = 4_096


def test_a_process_has_it_through_the_data_folder_and_others_as_ever() -> None:
    disk = SystemDisk(Random(0), Random(0))
    folder = disk.open_folder()
    assert isinstance(folder, DataFolder)
    folder.perform(CreateFile("a", 10))
    folder.access().perform(Write("a", 0, [b"one"]))
    folder.perform(SyncDirectory())
    assert disk.list_files() == ["a"]
    assert disk.read("a") == b"one" + bytes(7)
    assert sorted(folder.list_files()) == ["a", "lock"]
    assert folder.size("a") == 10
    disk.no_descriptors = True
    assert disk.read("a") == b"one" + bytes(7)
    with pytest.raises(OSError, match="Too many open files"):
        folder.read("a")


def test_a_process_that_ended_has_let_go_of_everything() -> None:
    disk = SystemDisk(Random(0), Random(0))
    folder = disk.open_folder()
    folder.perform(CreateFile("a", 10))
    with pytest.raises(DataDirectoryLocked):
        disk.open_folder()
    disk.process_ended()
    assert disk.system.open_files == []
    disk.open_folder().close()
    assert disk.system.open_files == []


def test_a_log_on_it_is_what_another_start_finds() -> None:
    disk = SystemDisk(Random(0), Random(0), short_chance=0.5)
    for _ in range(3):
        open_log(disk.open_folder(), segment_bytes=SEGMENT_BYTES)
        disk.process_ended()
    _, recovered = open_log(disk.copy(), segment_bytes=SEGMENT_BYTES)
    assert not recovered.damage.damaged
    assert recovered.epoch == 4
    assert disk.counts["short writes"] > 0
