"""The disk that waits and refuses."""

from __future__ import annotations

import errno
from threading import Thread

import pytest

from reference_broker.store.disk.ports import CreateFile, Sync
from reference_broker.testing.gated_disk import GatedDisk


def test_a_sync_waits_for_the_gate() -> None:
    disk = GatedDisk()
    disk.perform(CreateFile("a", 10))
    disk.gate.clear()
    thread = Thread(target=disk.perform, args=(Sync("a"),))
    thread.start()
    assert disk.reached.wait(20)
    assert thread.is_alive()
    disk.gate.set()
    thread.join(20)
    assert not thread.is_alive()


def test_it_refuses_what_it_is_told_to() -> None:
    disk = GatedDisk()
    disk.full = errno.ENOSPC
    with pytest.raises(OSError, match="simulated"):
        disk.perform(CreateFile("a", 10))
    disk.full = 0
    disk.shortages = [0, errno.EMFILE]
    disk.perform(CreateFile("a", 10))
    with pytest.raises(OSError, match="simulated"):
        disk.perform(Sync("a"))
    disk.perform(Sync("a"))
