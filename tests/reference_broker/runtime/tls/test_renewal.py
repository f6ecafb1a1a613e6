"""renewal: what follows its files, asked for by one thread or by two."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Semaphore

import pytest

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.tls.renewal import Renewed

TIMEOUT_S = 10
NOBODY_S = 0.1
"""Seconds in which a thread that does not wait would have come."""


class Reader:
    """Reads a file whose text is a word, and counts how often."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.count = 0

    def read(self) -> str:
        self.count += 1
        try:
            word = self.file.read_text()
        except OSError:
            raise BadConfiguration("it is not there") from None
        if " " in word:
            raise BadConfiguration(f"{word!r} is no word")
        return word


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    file = tmp_path / "word"
    file.write_text("one")
    return Reader(file)


def _messages(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(each.levelname, each.getMessage()) for each in caplog.records]


def test_files_that_stay_are_read_once(reader: Reader) -> None:
    renewed = Renewed([reader.file], reader.read)
    assert [renewed.current(), renewed.current(), renewed.in_use] == ["one"] * 3
    assert reader.count == 1


def test_files_that_cannot_be_used_at_first_are_refused(reader: Reader) -> None:
    reader.file.unlink()
    with pytest.raises(BadConfiguration, match="it is not there"):
        Renewed([reader.file], reader.read)


def test_a_renewal_is_taken_when_somebody_asks(
    reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    renewed = Renewed([reader.file], reader.read)
    reader.file.write_text("another")
    assert renewed.in_use == "one"
    assert renewed.current() == renewed.in_use == "another"
    assert _messages(caplog) == [
        ("INFO", f"TLS: {reader.file} and what belongs to it were renewed")
    ]


def test_a_file_of_the_same_time_and_size_is_another_by_its_inode(
    reader: Reader, tmp_path: Path
) -> None:
    renewed = Renewed([reader.file], reader.read)
    other, before = tmp_path / "other", reader.file.stat()
    other.write_text("two")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(reader.file)
    assert renewed.current() == "two"


def test_each_thing_that_is_wrong_is_said_once_and_the_product_stays(
    reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    renewed = Renewed([reader.file], reader.read)
    for wrong in ("no word", "no word at all"):
        reader.file.write_text(wrong)
        assert [renewed.current(), renewed.current()] == ["one"] * 2
    reader.file.unlink()
    assert renewed.current() == "one"
    stays = "(the TLS files before it stay in use)"
    assert _messages(caplog) == [
        ("ERROR", f"'no word' is no word {stays}"),
        ("ERROR", f"'no word at all' is no word {stays}"),
        ("ERROR", f"it is not there {stays}"),
    ]
    reader.file.write_text("good")
    assert renewed.current() == "good"


def test_two_threads_that_ask_at_once_read_the_files_once(reader: Reader) -> None:
    begun, may_go_on = Semaphore(0), Event()

    def read() -> str:
        if reader.count:
            begun.release()
            assert may_go_on.wait(TIMEOUT_S)
        return reader.read()

    renewed = Renewed([reader.file], read)
    reader.file.write_text("another")
    with ThreadPoolExecutor(2) as threads:
        asking = [threads.submit(renewed.current) for _ in range(2)]
        assert begun.acquire(timeout=TIMEOUT_S)
        assert not begun.acquire(timeout=NOBODY_S), "the other one reads them, too"
        may_go_on.set()
        assert [each.result(TIMEOUT_S) for each in asking] == ["another"] * 2
    assert reader.count == 2
