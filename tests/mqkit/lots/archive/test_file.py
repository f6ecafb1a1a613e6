"""A new file: whole under its name, or a part."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.file import ArchiveTaken, NewFile


def created(path: Path) -> NewFile:
    file = NewFile(path)
    file.create()
    return file


def test_it_has_its_name_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "lot"
    file = created(path)
    file.append(b"one")
    assert not path.exists()
    assert file.complete() == path
    assert path.read_bytes() == b"one"
    assert list(path.parent.iterdir()) == [path]
    assert file.abandon() is None


def test_only_its_owner_may_read_it_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = created(tmp_path / "new" / "lot").complete()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("taken", ["lot", "lot.part"])
def test_nothing_is_replaced(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_bytes(b"precious")
    with pytest.raises(ArchiveTaken, match=f"{taken}: the file|{taken}: file exists"):
        created(tmp_path / "lot")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {taken: b"precious"}


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "lot.part").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArchiveTaken):
        created(tmp_path / "lot")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("has_links", [True, False])
def test_what_came_under_its_name_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    if not has_links:
        monkeypatch.setattr(os, "link", no_links)
    file = created(tmp_path / "lot")
    file.append(b"ours")
    (tmp_path / "lot").write_bytes(b"theirs")
    with pytest.raises(ArchiveFault, match="can't be written"):
        file.complete()
    assert (tmp_path / "lot").read_bytes() == b"theirs"
    assert (tmp_path / "lot.part").read_bytes() == b"ours"


def test_without_links_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    created(tmp_path / "lot").complete()
    assert [each.name for each in tmp_path.iterdir()] == ["lot"]


def test_abandoned_it_stays_if_something_was_synced(tmp_path: Path) -> None:
    file = created(tmp_path / "lot")
    file.append(b"one")
    assert file.abandon() is None
    assert list(tmp_path.iterdir()) == []
    file = created(tmp_path / "lot")
    file.append(b"one")
    file.sync()
    file.append(b"two")
    assert file.abandon() == tmp_path / "lot.part"
    assert file.abandon() is None


def test_a_write_that_fails_leaves_what_was_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = created(tmp_path / "lot")
    file.append(b"one")
    file.sync()
    file.append(b"two")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArchiveFault, match="no space left on device"):
        file.sync()
    assert (tmp_path / "lot.part").read_bytes() == b"one"


def test_a_disk_that_is_full() -> None:
    """The device that always is: no file can be made in its folder's place."""
    with pytest.raises(ArchiveFault, match="is no folder"):
        created(Path("/dev/full/lot"))
