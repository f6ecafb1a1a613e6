"""Archives that are torn, foreign, or changed; restores that go on."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mqkit.errors import ConfigurationError
from mqkit.lots.archive import restoring
from mqkit.lots.archive.archiving import archive
from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.place import Place
from mqkit.lots.archive.restoring import RestoreReport, restore
from mqkit.lots.reading import Window
from mqkit.message import Message
from mqkit.retry.headers import ORIGINAL_USER_ID
from mqkit.retry.known_lots import KnownLots
from mqkit.transport.native.exact import from_octets, octets_of
from mqkit.wire import Properties as WireProperties

pytestmark = pytest.mark.anyio

Yard: TypeAlias = Any
"""The fixture's type lives in conftest.py, which no test module can import."""

NUMBERS = [b"%d" % number for number in range(7)]


async def archived(yard: Yard, folder: Path, *bodies: bytes, window: int = 2) -> Path:
    await yard.publish(yard.lot, *bodies)
    path = folder / "lot.jsonl.gz"
    report = await archive(yard.link, yard.lot, Place(str(path)), window=Window(window))
    assert report.complete
    return path


async def test_a_torn_file_is_refused_unless_asked_for_or_called_a_part(
    yard: Yard, tmp_path: Path
) -> None:
    path = await archived(yard, tmp_path, *NUMBERS)
    octets = path.read_bytes()
    path.write_bytes(octets[:-11])
    with pytest.raises(ArchiveFault, match=r"is torn: .*--partial restores the 7 messages"):
        await restore(yard.link, path)
    assert await yard.bodies(yard.lot) == []
    report = await restore(yard.link, path, partial=True)
    assert (report.restored, report.whole) == (7, False)
    assert await yard.bodies(yard.lot) == NUMBERS
    part = tmp_path / "half.jsonl.gz.part"
    part.write_bytes(octets[: len(octets) // 2])
    report = await restore(yard.link, part)
    assert 0 < report.restored < 7
    assert await yard.bodies(yard.lot) == NUMBERS[: report.restored]


async def test_every_cut_of_a_file_is_known(yard: Yard, tmp_path: Path) -> None:
    path = await archived(yard, tmp_path, *NUMBERS[:3], window=1)
    octets = path.read_bytes()
    # Behind the end line, whose digest fits, come 10 octets that only say the same once more.
    for cut in range(len(octets) - 10):
        path.write_bytes(octets[:cut])
        with pytest.raises(ArchiveFault):
            await restore(yard.link, path)
    path.write_bytes(octets)
    assert (await restore(yard.link, path)).restored == 3


async def test_a_file_that_was_changed_is_refused_with_nothing_sent(
    yard: Yard, tmp_path: Path
) -> None:
    path = await archived(yard, tmp_path, *NUMBERS)
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    changed = lines[3].replace(b'"body":"2"', b'"body":"X"')
    cases = {
        "it was changed": [*lines[:3], changed, *lines[4:]],
        "its end tells of other messages": [*lines[:3], *lines[4:]],
        "lines behind its end": [*lines, lines[1]],
        "line 3: no exchange": [*lines[:2], b"{}\n", *lines[2:]],
        "no archive of a lot": lines[1:],
        "of version 9": [lines[0].replace(b'"version": 1', b'"version": 9'), *lines[1:]],
    }
    for words, found in cases.items():
        path.write_bytes(gzip.compress(b"".join(found)))
        with pytest.raises(ArchiveFault, match=words):
            await restore(yard.link, path, partial=True)
    for octets in (
        b"",
        b"no gzip",
        gzip.compress(b"\xff\n"),
        gzip.compress(b"[" * 200_000 + b"\n"),
    ):
        path.write_bytes(octets)
        with pytest.raises(ArchiveFault, match=r"lot\.jsonl\.gz"):
            await restore(yard.link, path, partial=True)
    assert await yard.bodies(yard.lot) == []


async def test_a_file_that_is_not_there_and_one_of_another_kind(yard: Yard, tmp_path: Path) -> None:
    with pytest.raises(ArchiveFault, match="can't be read: no such file"):
        await restore(yard.link, tmp_path / "none.jsonl.gz")
    with pytest.raises(ArchiveFault, match="can't be read: is a directory"):
        (tmp_path / "folder.jsonl.gz").mkdir()
        await restore(yard.link, tmp_path / "folder.jsonl.gz")
    with pytest.raises(ArchiveFault, match="name ends in"):
        await restore(yard.link, tmp_path / "lot.zip")


async def test_another_lot_has_to_be_one(
    yard: Yard, unique: Callable[[str], str], tmp_path: Path
) -> None:
    path = await archived(yard, tmp_path, b"x")
    with pytest.raises(ConfigurationError, match="not a parking lot"):
        await restore(yard.link, path, yard.name)
    named = replace(yard.link, known=KnownLots({yard.name: None}))
    assert (await restore(named, path, yard.name)).restored == 1
    assert await yard.bodies(yard.name) == [b"x"]
    with pytest.raises(ConfigurationError, match="no queue"):
        await restore(yard.link, path, f"{yard.name}.nowhere.parked")


async def test_a_restore_that_stops_goes_on(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restoring, "WINDOW", 3)
    path = await archived(yard, tmp_path, *NUMBERS)
    seen: list[RestoreReport] = []
    first = await restore(yard.link, path, stopping=lambda: len(seen) == 1, on_progress=seen.append)
    assert (first.restored, first.stopped) == (3, "asked to stop")
    second = await restore(yard.link, path)
    assert (second.restored, second.skipped, second.stopped) == (4, 3, "")
    assert await yard.bodies(yard.lot) == NUMBERS


async def test_it_stops_at_the_first_message_that_the_lot_refuses(
    yard: Yard, unique: Callable[[str], str], tmp_path: Path
) -> None:
    path = await archived(yard, tmp_path, *NUMBERS)
    small = unique("small.parked")
    await yard.declare(small, max_length=2, overflow="reject-publish")
    report = await restore(yard.link, path, small)
    assert "was not confirmed" in report.stopped
    assert report.restored == 2


async def test_somebody_elses_user_id_is_kept_in_a_header(yard: Yard, tmp_path: Path) -> None:
    """No broker takes it from us; the archive was written where it was somebody else's."""
    path = tmp_path / "lot.jsonl.gz"
    octets = octets_of(WireProperties(user_id="guest", message_id="m"))
    await yard.send([Message("", yard.lot, b"x", from_octets(octets))])
    await archive(yard.link, yard.lot, Place(str(path)))
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    body = b"".join(lines[:-1]).replace(b'"user_id":"guest"', b'"user_id":"alice"')
    torn = tmp_path / "alice.jsonl.gz.part"
    torn.write_bytes(gzip.compress(body))
    for skipped in (0, 1):
        report = await restore(yard.link, torn)
        assert (report.restored, report.skipped) == (1 - skipped, skipped)
    (delivery,) = await yard.drain(yard.lot)
    assert delivery.properties.user_id is None
    assert delivery.headers == {ORIGINAL_USER_ID: "alice"}
