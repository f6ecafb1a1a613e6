from __future__ import annotations

from random import Random

import pytest

from reference_broker.simulation.disk.medium import Crash, Medium, MediumFile


def medium_with(name: str) -> tuple[Medium, MediumFile]:
    """A file of which all is synced: 100 zeros."""
    medium, file = Medium(Random(0)), MediumFile(100)
    medium.rename({name: file})
    file.sync()
    medium.sync_names()
    return medium, file


@pytest.mark.parametrize(
    ("how", "content"),
    [(Crash.DROP, b"\0" * 6), (Crash.KEEP, b"onetwo"), (Crash.TEAR_LAST, b"onet\0\0")],
)
def test_a_crash_leaves_of_what_is_not_synced_what_its_kind_says(
    how: Crash, content: bytes
) -> None:
    medium, file = medium_with("a")
    medium.write(file, 0, b"one")
    medium.write(file, 3, b"two")
    medium.crash(how, 1)
    assert bytes(medium.file("a").written[:6]) == content


def test_a_file_that_is_cut_is_cut_for_good_when_it_is_synced() -> None:
    medium, file = medium_with("a")
    file.resize(10)
    medium.crash(Crash.DROP, 0)
    assert len(medium.file("a").written) == 100
    file.resize(10)
    file.sync()
    medium.crash(Crash.DROP, 0)
    assert len(medium.file("a").written) == 10


def test_a_name_is_for_good_when_names_are_synced() -> None:
    medium, file = medium_with("a")
    medium.rename({"b": file, "a": None})
    assert (list(medium.files), list(medium.durable_names)) == (["b"], ["a"])
    medium.crash(Crash.DROP, 0)
    assert list(medium.files) == ["a"]


def test_what_a_sync_failed_at_no_later_one_brings() -> None:
    medium, file = medium_with("a")
    medium.write(file, 0, b"lost")
    file.fail_to_sync()
    file.sync()
    assert bytes(file.written[:4]) == b"lost"
    medium.crash(Crash.KEEP, 0)
    assert bytes(medium.file("a").written[:4]) == bytes(4)


def test_all_files_together_have_a_size() -> None:
    medium, _ = medium_with("a")
    medium.rename({"b": MediumFile(11)})
    assert medium.size_bytes == 111
    with pytest.raises(FileNotFoundError):
        medium.file("c")
