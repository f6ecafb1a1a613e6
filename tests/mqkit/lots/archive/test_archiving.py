"""Lots into files and back, against both brokers."""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mqkit.errors import ConfigurationError
from mqkit.lots.archive.archiving import ArchiveReport, archive
from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.place import Place
from mqkit.lots.archive.restoring import restore
from mqkit.lots.choice import Choice
from mqkit.lots.reading import Window
from mqkit.message import Delivery, Message
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.parked import Selection
from mqkit.transport.native.exact import ExactProperties, from_octets, octets_of
from mqkit.wire import Properties as WireProperties
from mqkit.wire import SizedInt, Typed

pytestmark = pytest.mark.anyio

Yard: TypeAlias = Any
"""The fixture's type lives in conftest.py, which no test module can import."""

NUMBERS = [b"%d" % number for number in range(7)]

ODD_HEADERS = {
    "t": True,
    "b": SizedInt("b", -5),
    "B": SizedInt("B", 200),
    "s": SizedInt("s", -300),
    "u": SizedInt("u", 40_000),
    "I": 7,
    "i": SizedInt("i", 7),
    "l": SizedInt("l", 7),
    "large": 2**40,
    "f": Typed("f", 0.5),
    "d": 0.1,
    "D": Decimal("12.50"),
    "S": "text ü",
    "no text": Typed("S", b"\xff\xfe"),
    "A": [1, "two", [None, {"three": SizedInt("l", 3)}]],
    "T": datetime(2025, 1, 2, tzinfo=UTC),
    "late": Typed("T", 2**40),
    "F": {"$amqp": "x", "inner": {"value": Typed("f", 1.5)}},
    "V": None,
    "x": b"\x00\x01\xff",
}


def exact(**values: Any) -> ExactProperties:
    return from_octets(octets_of(WireProperties(**values)))


def odd_messages(lot: str) -> list[Message]:
    """Properties that other clients send, and mqkit's own would not."""
    every_octet = bytes(range(256))
    properties = [
        exact(),
        exact(headers={}),
        exact(headers=ODD_HEADERS, delivery_mode=2, message_id="m1"),
        exact(delivery_mode=1, priority=9, expiration="86400000", timestamp=5, type="t"),
        exact(content_type="a/b", content_encoding="gzip", correlation_id="c", reply_to="r"),
        exact(app_id="app", user_id="guest", cluster_id="cluster", message_id="\udcff"),
        exact(headers={"CC": ["elsewhere"]}, message_id="cc"),
    ]
    bodies = [b"", every_octet, "text ü".encode(), b"{}", b"\xff", b"x" * 300_000, b"y"]
    return [Message("", lot, body, each) for each, body in zip(properties, bodies, strict=True)]


def facts(messages: Sequence[Delivery | Message]) -> list[tuple[bytes, bytes]]:
    """All of a message that is not its way."""
    found = []
    for message in messages:
        assert isinstance(message.properties, ExactProperties)
        found.append((message.properties.octets, message.body))
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.open(path)]


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".parquet"])
async def test_every_octet_comes_back(
    yard: Yard, unique: Callable[[str], str], tmp_path: Path, suffix: str
) -> None:
    await yard.declare(unique("elsewhere"))
    sent = odd_messages(yard.lot)
    await yard.send(sent[:-1])
    # The last one with its copies, as somebody who wants them sends it: not lost, and not repeated.
    cc = exact(headers={"CC": [yard.name]}, message_id="cc")
    copied = Message("", yard.lot, b"y", cc)
    await yard.send([copied])
    assert await yard.bodies(yard.name) == [b"y"]
    path = tmp_path / f"lot{suffix}"
    report = await archive(yard.link, yard.lot, Place(str(path)), window=Window(2))
    assert (report.archived, report.complete, report.file) == (7, True, str(path))
    assert await yard.drain(yard.lot) == []
    back = await restore(yard.link, path)
    assert (back.restored, back.skipped, back.whole) == (7, 0, True)
    expected = facts([*sent[:-1], copied])
    assert facts(await yard.drain(yard.lot)) == expected
    assert await yard.bodies(yard.name) == []  # no copy was routed again


async def test_what_the_lot_has_already_is_skipped_as_often_as_it_has_it(
    yard: Yard, tmp_path: Path
) -> None:
    parked = {"x-mqkit-parked-at": "2025-01-02T00:00:00+00:00"}
    await yard.publish(yard.lot, b"twin", b"twin", b"other")
    await yard.publish(yard.lot, b"a", message_id="a", headers=parked)
    path = tmp_path / "lot.jsonl.gz"
    await archive(yard.link, yard.lot, Place(str(path)))
    await yard.publish(yard.lot, b"twin")
    await yard.publish(yard.lot, b"another body", message_id="a", headers=parked)
    report = await restore(yard.link, path)
    assert (report.restored, report.skipped) == (2, 2)
    again = await restore(yard.link, path)
    assert (again.restored, again.skipped) == (0, 4)
    assert await yard.bodies(yard.lot) == [b"twin", b"another body", b"twin", b"other"]


async def test_what_is_not_chosen_stays_in_its_place(yard: Yard, tmp_path: Path) -> None:
    for number, body in enumerate(NUMBERS):
        await yard.publish(yard.lot, body, message_id=f"m{number}")
    choice = Choice(Selection(frozenset({"m1", "m4", "m5"})), limit=2)
    path = tmp_path / "lot.jsonl.gz"
    report = await archive(yard.link, yard.lot, Place(str(path)), choice)
    assert (report.archived, report.total) == (2, 7)
    assert [each["body"] for each in lines(path)[1:-1]] == ["1", "4"]
    assert await yard.bodies(yard.lot) == [b"0", b"2", b"3", b"5", b"6"]


async def test_nothing_chosen_makes_no_file(yard: Yard, tmp_path: Path) -> None:
    await yard.publish(yard.lot, b"x")
    choice = Choice(Selection(reason="nobody wrote this"))
    report = await archive(yard.link, yard.lot, Place(str(tmp_path)), choice)
    assert (report.archived, report.file) == (0, None)
    assert os.listdir(tmp_path) == []
    assert await yard.bodies(yard.lot) == [b"x"]


async def test_each_run_has_a_file_of_its_own_for_its_owner_only(
    yard: Yard, tmp_path: Path
) -> None:
    place = Place(f"{tmp_path}/new/{{queue}}-{{date}}.jsonl.gz")
    files = []
    for body in (b"1", b"2"):
        await yard.publish(yard.lot, body)
        report = await archive(yard.link, yard.lot, place)
        files.append(Path(report.file or ""))
    assert len(set(files)) == 2
    assert {stat.S_IMODE(os.stat(file).st_mode) for file in files} == {0o600}
    assert [lines(file)[1]["body"] for file in files] == ["1", "2"]
    assert sorted(os.listdir(tmp_path / "new")) == sorted(file.name for file in files)


async def test_a_file_that_is_there_is_never_replaced(yard: Yard, tmp_path: Path) -> None:
    await yard.publish(yard.lot, b"x")
    for taken in (tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz.part"):
        taken.write_bytes(b"precious")
        path = str(taken).removesuffix(".part")
        with pytest.raises(ArchiveFault, match="no archive is ever replaced"):
            await archive(yard.link, yard.lot, Place(path))
        assert taken.read_bytes() == b"precious"
    assert await yard.bodies(yard.lot) == [b"x"]


async def test_a_queue_at_work_is_not_archived(yard: Yard, tmp_path: Path) -> None:
    await yard.publish(yard.name, b"at work")
    with pytest.raises(ConfigurationError, match="not a parking lot"):
        await archive(yard.link, yard.name, Place(str(tmp_path)))
    named = replace(yard.link, known=KnownLots({yard.name: None}))
    report = await archive(named, yard.name, Place(str(tmp_path)))
    assert report.archived == 1


async def test_asked_to_stop_it_ends_between_two_windows(yard: Yard, tmp_path: Path) -> None:
    await yard.publish(yard.lot, *NUMBERS)
    seen: list[ArchiveReport] = []
    report = await archive(
        yard.link,
        yard.lot,
        Place(str(tmp_path)),
        window=Window(3),
        stopping=lambda: len(seen) == 1,
        on_progress=seen.append,
    )
    assert (report.archived, report.stopped, report.complete) == (3, "asked to stop", True)
    assert await yard.bodies(yard.lot) == NUMBERS[3:]


async def test_a_full_disk_leaves_what_is_synced_in_the_part_and_the_rest_in_the_lot(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/dev/full has no folder that could be synced, so it is the third sync of the file that
    fails."""
    await yard.publish(yard.lot, *NUMBERS)
    synced, fsync = [], os.fsync

    def full(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            synced.append(descriptor)
            if len(synced) == 3:
                raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    path = tmp_path / "lot.jsonl.gz"
    report = await archive(yard.link, yard.lot, Place(str(path)), window=Window(2))
    monkeypatch.undo()
    assert "no space left on device" in report.stopped
    assert (report.archived, report.complete, report.file) == (4, False, f"{path}.part")
    rest = await yard.bodies(yard.lot)
    back = await restore(yard.link, Path(f"{path}.part"))
    assert (back.restored, back.whole) == (4, False)
    assert await yard.bodies(yard.lot) + rest == NUMBERS


async def test_a_folder_that_is_a_file_loses_nothing(yard: Yard, tmp_path: Path) -> None:
    await yard.publish(yard.lot, *NUMBERS)
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveFault, match="can't be written"):
        await archive(yard.link, yard.lot, Place(str(tmp_path / "file" / "lot.jsonl.gz")))
    assert await yard.bodies(yard.lot) == NUMBERS
