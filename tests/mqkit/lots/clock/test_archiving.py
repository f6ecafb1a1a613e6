"""Archives by the clock: a window at a time, a file a run."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mqkit.lots.archive.place import Place
from mqkit.lots.clock.archiving import FileArchive, archive_for
from mqkit.message import Delivery, Properties
from mqkit.topology.lot_model import ArchiveModel

pytestmark = pytest.mark.anyio


def delivery(body: bytes) -> Delivery:
    return Delivery("", "q.parked", body, Properties(message_id="m"), 1, redelivered=False)


def at(folder: Path) -> FileArchive:
    return FileArchive(Place(f"{folder}/{{queue}}/{{date}}.jsonl.gz"), "/shop")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def bodies(path: Path) -> list[str]:
    return [line["body"] for line in read(path)[1:-1]]


async def test_what_is_synced_is_in_the_file(tmp_path: Path) -> None:
    async with at(tmp_path).run("q.parked") as archive:
        await archive.add([delivery(b"1"), delivery(b"2")])
        await archive.sync()
        (part,) = (tmp_path / "q.parked").iterdir()
        assert part.name.endswith(".jsonl.gz.part")
        assert gzip.decompress(part.read_bytes()).count(b"\n") == 3
        await archive.sync()
        await archive.add([delivery(b"3")])
        await archive.sync()
    (whole,) = (tmp_path / "q.parked").iterdir()
    assert bodies(whole) == ["1", "2", "3"]
    assert read(whole)[0]["vhost"] == "/shop"


async def test_each_run_has_its_file_and_one_without_messages_has_none(tmp_path: Path) -> None:
    for body in (b"1", b"", b"2"):
        async with at(tmp_path).run("q") as archive:
            await archive.add([delivery(body)] if body else [])
            await archive.sync()
    assert sorted(bodies(path) for path in (tmp_path / "q").iterdir()) == [["1"], ["2"]]


async def test_a_run_that_fails_leaves_a_part(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        async with at(tmp_path).run("q") as archive:
            await archive.add([delivery(b"1")])
            await archive.sync()
            raise RuntimeError
    (part,) = (tmp_path / "q").iterdir()
    assert part.name.endswith(".jsonl.gz.part")


def test_the_place_is_the_file_s(tmp_path: Path) -> None:
    model = ArchiveModel(86_400_000, f"{tmp_path}/{{queue}}.jsonl.gz")
    assert archive_for(model, "/shop") == FileArchive(Place(model.to), "/shop")
