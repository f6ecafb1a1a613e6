"""A lot into a file and back, against both brokers: nothing of a message is lost on the way."""

from __future__ import annotations

import gzip
import json
import os
import stat
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pika
import pytest

from mqkit.errors import ConfigurationError
from mqkit.lots.archive.archiving import archive
from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.file import PART
from mqkit.lots.archive.place import Place, escaped
from mqkit.lots.archive.restoring import restore
from mqkit.lots.choice import Choice
from mqkit.lots.link import LotLink
from mqkit.lots.moving import move
from mqkit.lots.reading import Window
from mqkit.lots.where import parse
from mqkit.retry.known_lots import KnownLots

pytestmark = pytest.mark.anyio

HEADERS = {
    "text": "späße",
    "octets": b"\x00\xff",
    "small": 1,
    "large": 2**40,
    "negative": -5,
    "truth": True,
    "nothing": None,
    "when": datetime(2026, 11, 24, 1, 2, 3, tzinfo=UTC),
    "price": Decimal("12.34"),
    "table": {"deep": [1, "two", {"three": 3}]},
    "list": [],
}
BODIES = [bytes(range(256)), b"", '{"a": "ü"}'.encode(), b"\xff" * 3000]


def link_to(bench: Any, *named: str) -> LotLink:
    return LotLink(bench.endpoint, 20.0, KnownLots(dict.fromkeys(named)))


def fill(bench: Any, count: int = 4) -> None:
    """By another client, with all that it can put on a message."""
    with pika.BlockingConnection(pika.URLParameters(bench.url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for number in range(count):
            properties = pika.BasicProperties(
                content_type="x/y",
                content_encoding="z",
                headers={**HEADERS, "number": number},
                delivery_mode=1 + number % 2,
                priority=number % 10,
                correlation_id="c",
                reply_to="r",
                expiration=None,
                message_id=f"m{number}" if number % 3 else None,
                timestamp=1_700_000_000 + number,
                type="t",
                app_id="app",
            )
            channel.basic_publish("", bench.lot, BODIES[number % 4], properties)


def taken(bench: Any, queue: str) -> list[tuple[Any, ...]]:
    """Everything in the queue, by another client."""
    found: list[tuple[Any, ...]] = []
    with pika.BlockingConnection(pika.URLParameters(bench.url)) as connection:
        channel = connection.channel()
        while True:
            method, properties, body = channel.basic_get(queue, auto_ack=True)
            if method is None:
                return found
            found.append((body, vars(properties)))


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def lines_of(file: Path) -> list[Any]:
    return [json.loads(each) for each in gzip.decompress(file.read_bytes()).splitlines()]


async def test_what_is_restored_is_what_lay_there(bench: Any, tmp_path: Path) -> None:
    fill(bench, 8)
    before = taken(bench, bench.lot)
    fill(bench, 8)
    report = await archive(link_to(bench), bench.lot, Place(str(tmp_path)))
    assert (report.archived, report.complete, report.stopped) == (8, True, "")
    assert taken(bench, bench.lot) == []
    file = Path(report.file or "")
    assert file.parent == tmp_path
    assert mode_of(file) == 0o600
    lines = lines_of(file)
    assert lines[0]["lot"] == bench.lot
    assert (lines[-1]["end"], lines[-1]["messages"]) == (True, 8)
    restored = await restore(link_to(bench), file)
    assert (restored.restored, restored.skipped, restored.whole) == (8, 0, True)
    assert taken(bench, bench.lot) == before


async def test_parquet_is_the_same(bench: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    fill(bench, 8)
    before = taken(bench, bench.lot)
    fill(bench, 8)
    report = await archive(link_to(bench), bench.lot, Place(str(tmp_path / "a.parquet")))
    assert (report.archived, report.file) == (8, str(tmp_path / "a.parquet"))
    await restore(link_to(bench), tmp_path / "a.parquet")
    assert taken(bench, bench.lot) == before


async def test_a_restore_skips_what_is_there(bench: Any, tmp_path: Path) -> None:
    await bench.park(b"one", b"two", b"three")
    place = Place(str(tmp_path / "a.jsonl.gz"))
    await archive(link_to(bench), bench.lot, place, Choice(where=parse('body == "x" or age >= 0s')))
    first = await restore(link_to(bench), tmp_path / "a.jsonl.gz")
    again = await restore(link_to(bench), tmp_path / "a.jsonl.gz")
    assert (first.restored, again.restored, again.skipped) == (3, 0, 3)
    assert await bench.bodies(bench.lot) == [b"one", b"two", b"three"]


async def test_small_windows_keep_the_order(bench: Any, tmp_path: Path) -> None:
    bodies = [b"%d" % number for number in range(25)]
    await bench.park(*bodies)
    place = Place(str(tmp_path / "a.jsonl.gz"))
    report = await archive(link_to(bench), bench.lot, place, window=Window(messages=7))
    assert report.archived == 25
    await restore(link_to(bench), tmp_path / "a.jsonl.gz")
    assert await bench.bodies(bench.lot) == bodies


async def test_only_what_is_chosen_goes(bench: Any, tmp_path: Path) -> None:
    await bench.park(b"1", b"2", b"3", b"4")
    choice = Choice(where=parse("body >= 2 and body != 3"))
    report = await archive(link_to(bench), bench.lot, Place(str(tmp_path)), choice)
    assert report.archived == 2
    assert await bench.bodies(bench.lot) == [b"1", b"3"]


async def test_asked_to_stop_it_ends_between_windows(bench: Any, tmp_path: Path) -> None:
    await bench.park(b"1", b"2", b"3", b"4")
    place = Place(str(tmp_path / "a.jsonl.gz"))
    report = await archive(
        link_to(bench), bench.lot, place, window=Window(messages=2), stopping=lambda: True
    )
    assert (report.archived, report.stopped) == (2, "asked to stop")
    assert await bench.bodies(bench.lot) == [b"3", b"4"]


async def test_a_queue_that_is_no_lot_is_left_alone(bench: Any, tmp_path: Path) -> None:
    await bench.publish(bench.name, b"at work", headers={})
    with pytest.raises(ConfigurationError, match="is not a parking lot"):
        await archive(link_to(bench), bench.name, Place(str(tmp_path)))
    named = link_to(bench, bench.name)
    assert (await archive(named, bench.name, Place(str(tmp_path)))).archived == 1


async def test_no_file_is_replaced_and_a_place_that_is_not_ours_is_said(
    bench: Any, tmp_path: Path
) -> None:
    await bench.park(b"one")
    taken_by_others = tmp_path / "a.jsonl.gz"
    taken_by_others.write_bytes(b"mine")
    with pytest.raises(ArchiveFault, match="no archive is ever replaced"):
        await archive(link_to(bench), bench.lot, Place(str(taken_by_others)))
    assert taken_by_others.read_bytes() == b"mine"
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ArchiveFault, match="can't be written"):
        await archive(link_to(bench), bench.lot, Place(str(file / "a.jsonl.gz")))
    assert await bench.bodies(bench.lot) == [b"one"]


async def test_a_torn_file_is_refused_unless_it_is_asked_for(bench: Any, tmp_path: Path) -> None:
    await bench.park(*(b"%d" % number for number in range(10)))
    path = tmp_path / "a.jsonl.gz"
    await archive(link_to(bench), bench.lot, Place(str(path)), window=Window(messages=2))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ArchiveFault, match="--partial"):
        await restore(link_to(bench), path)
    assert await bench.bodies(bench.lot) == []
    report = await restore(link_to(bench), path, partial=True)
    assert not report.whole
    assert await bench.bodies(bench.lot) == [b"%d" % n for n in range(report.restored)]


async def test_a_changed_file_is_refused(bench: Any, tmp_path: Path) -> None:
    await bench.park(b"one", b"two")
    path = tmp_path / "a.jsonl.gz"
    await archive(link_to(bench), bench.lot, Place(str(path)))
    text = gzip.decompress(path.read_bytes()).replace(b'"two"', b'"owt"')
    path.write_bytes(gzip.compress(text))
    with pytest.raises(ArchiveFault):
        await restore(link_to(bench), path)
    path.write_bytes(os.urandom(100))
    with pytest.raises(ArchiveFault):
        await restore(link_to(bench), path)
    assert await bench.bodies(bench.lot) == []


async def test_a_move_leaves_everything_on_the_message(bench: Any) -> None:
    fill(bench, 4)
    before = taken(bench, bench.lot)
    fill(bench, 4)
    report = await move(link_to(bench), bench.lot, bench.name, Choice())
    assert (report.moved, report.total, report.stopped) == (4, 4, "")
    assert taken(bench, bench.name) == before
    with pytest.raises(ConfigurationError, match="there is no queue"):
        await move(link_to(bench), bench.lot, f"{bench.name}.nobody", Choice())


@pytest.mark.parametrize("queue", ["../../etc/x", "a/b", ".hidden", "ü" * 127, "x" * 255, "a\0b"])
def test_any_name_is_a_name_of_a_file(queue: str, tmp_path: Path) -> None:
    path = next(Place(str(tmp_path)).paths(queue, datetime.now(UTC)))
    assert path.parent == tmp_path
    assert len(os.fsencode(path.name + PART)) <= 255
    assert escaped(queue) != escaped(queue + "2")


async def test_a_sample_and_a_limit(bench: Any, tmp_path: Path) -> None:
    await bench.park(*(b"%d" % number for number in range(20)))
    choice = Choice(sample=5, seed=1)
    first = await archive(link_to(bench), bench.lot, Place(str(tmp_path)), choice)
    assert first.archived == 5
    again = await archive(link_to(bench), bench.lot, Place(str(tmp_path)), replace(choice, limit=2))
    assert again.archived == 2
    assert len(await bench.bodies(bench.lot)) == 13
