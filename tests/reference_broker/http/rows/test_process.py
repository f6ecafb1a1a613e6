"""Figures of the process, where /proc is there and where it is not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reference_broker.http.rows import process


def test_memory_is_the_resident_set_or_its_peak(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert process.resident_bytes() > 1 << 20
    monkeypatch.setattr(process, "_STATM", tmp_path / "none")
    assert process.resident_bytes() > 1 << 20


def test_an_open_file_is_a_descriptor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = process.descriptors_used()
    with (tmp_path / "file").open("w"):
        assert process.descriptors_used() == before + 1
    assert 0 < before < process.descriptors_max()
    monkeypatch.setattr(process, "_DESCRIPTORS", tmp_path / "none")
    assert process.descriptors_used() == 0


def test_the_start_is_read_past_any_name_of_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = process.started_at_s()
    assert started is not None
    assert started < time.time()
    fields = [f"{number}" for number in range(3, 53)]
    stat, kernel = tmp_path / "stat", tmp_path / "kernel"
    stat.write_text("1 (a ) b) " + " ".join(fields))
    kernel.write_text("cpu 1\nbtime 1000\n")
    monkeypatch.setattr(process, "_STAT", stat)
    monkeypatch.setattr(process, "_KERNEL", kernel)
    monkeypatch.setattr(os, "sysconf", lambda name: 10)
    assert process.started_at_s() == 1_000 + 22 / 10
    kernel.write_text("cpu 1\n")
    assert process.started_at_s() is None


def test_free_bytes_are_of_the_disk_of_the_data_folder(tmp_path: Path) -> None:
    assert process.disk_free(tmp_path) > 0
    assert process.disk_free(None) > 0
