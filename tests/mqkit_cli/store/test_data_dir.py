"""A data folder that is read while a broker may work on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqkit_cli.errors import CommandError
from mqkit_cli.store.data_dir import TRIES, FolderChanged, read_steadily


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0000000000000000-00000001-00000000.segment").touch()
    return tmp_path


def test_a_file_that_a_broker_takes_away_is_no_damage(folder: Path) -> None:
    tries = 0

    def read(_: object) -> str:
        nonlocal tries
        tries += 1
        if tries < TRIES:
            raise FileNotFoundError
        return "read"

    assert read_steadily(folder, read) == "read"


def test_a_folder_that_changes_all_the_time_is_given_up(folder: Path) -> None:
    def read(_: object) -> None:
        raise FileNotFoundError

    with pytest.raises(FolderChanged, match="stop the broker"):
        read_steadily(folder, read)


def test_an_error_of_the_disk_is_a_line(folder: Path) -> None:
    def read(_: object) -> None:
        raise OSError(5, "Input/output error")

    with pytest.raises(CommandError, match=f"{folder}: Input/output error"):
        read_steadily(folder, read)


def test_a_folder_whose_segments_were_all_put_aside_is_one(tmp_path: Path) -> None:
    (tmp_path / "0000000000000000-00000001-00000000.segment.quarantine").touch()
    assert read_steadily(tmp_path, lambda disk: len(disk.list_files())) == 1
