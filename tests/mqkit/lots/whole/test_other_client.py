"""Messages of another client in a lot, through a file and through a move, against both brokers:
that client finds them as they were."""

from __future__ import annotations

import gzip
import json
import stat
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pika
import pytest

from mqkit.lots.archive.archiving import archive
from mqkit.lots.archive.place import Place
from mqkit.lots.archive.restoring import restore
from mqkit.lots.choice import Choice
from mqkit.lots.link import LotLink
from mqkit.lots.moving import move
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


async def test_what_is_moved_is_what_lay_there(bench: Any) -> None:
    fill(bench, 4)
    before = taken(bench, bench.lot)
    fill(bench, 4)
    report = await move(link_to(bench), bench.lot, bench.name, Choice())
    assert (report.moved, report.total, report.stopped) == (4, 4, "")
    assert taken(bench, bench.name) == before
