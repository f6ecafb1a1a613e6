"""Definitions as a file: what is one, its order, and that it is written whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mqkit_cli.definitions import file as definitions_file
from mqkit_cli.errors import CommandError


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"", "f: not JSON: Expecting value (line 1, column 1)"),
        (b'{\n"queues": [}', "f: not JSON: Expecting value (line 2, column 12)"),
        (b"\xff", "f: not JSON: not UTF-8 text"),
        (b"[" * 100_000, "f: not JSON: not UTF-8 text, or nested too deeply"),
        (b"[]", "f: not a file of definitions: expected a JSON object"),
        (b'{"queue": []}', "f: not a file of definitions: it has none of users, vhosts,"),
        (b'{"queues": {}}', "f: queues is not a list"),
        (b'{"users": [], "bindings": [{}, 5]}', "f: bindings, item 2 is not an object"),
    ],
)
def test_what_is_no_file_of_definitions(document: bytes, why: str) -> None:
    with pytest.raises(CommandError) as refused:
        definitions_file.parse(document, "f")
    assert str(refused.value).startswith(why)


def test_a_byte_order_mark_is_fine() -> None:
    assert definitions_file.parse(b'\xef\xbb\xbf{"queues": []}', "f") == {"queues": []}


def test_the_order_of_a_broker_does_not_show() -> None:
    queues: list[dict[str, Any]] = [
        {"name": name, "vhost": vhost, "arguments": {"b": [2, 1], "a": 1}}
        for vhost in ("/", "a") for name in ("z", "y")
    ]  # fmt: skip
    bindings = [{"source": "x", "destination": "q", "routing_key": key} for key in ("b", "a")]
    one = {"rabbit_version": "1", "queues": queues, "bindings": bindings}
    other = {
        "bindings": bindings[::-1],
        "queues": [dict(reversed(queue.items())) for queue in reversed(queues)],
        "rabbit_version": "1",
    }
    text = definitions_file.pretty(one)
    assert text == definitions_file.pretty(other)
    found = json.loads(text)
    assert [(row["vhost"], row["name"]) for row in found["queues"]] == [
        ("/", "y"), ("/", "z"), ("a", "y"), ("a", "z"),
    ]  # fmt: skip
    assert found["queues"][0]["arguments"]["b"] == [2, 1]
    assert [row["routing_key"] for row in found["bindings"]] == ["a", "b"]
    assert text.endswith("\n")
    assert text.isascii()


def test_what_is_counted() -> None:
    found: dict[str, Any] = {"queues": [{}, {}], "exchanges": [{}]}
    assert definitions_file.counted(found) == "1 exchange, 2 queues, 0 bindings"


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        (b"", []),
        (b'{"skipped": ["queue \'q\'", "x"]}', ["queue 'q'", "x"]),
        (b"{}", []),
        (b"[]", []),
        (b"nope", []),
    ],
)
def test_what_was_skipped(answer: bytes, labels: list[str]) -> None:
    assert definitions_file.skipped(answer) == labels


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "definitions.json"
    file.write_text("old")
    definitions_file.write(str(file), "new\n")
    assert file.read_text() == "new\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["definitions.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    definitions_file.write(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_nothing_is_left_of_a_write_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "definitions.json"
    file.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        definitions_file.write(str(file), "new")
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["definitions.json"]


def test_what_is_not_a_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(CommandError, match="is not a regular file"):
            definitions_file.write(str(place), "new")
