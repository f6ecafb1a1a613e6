"""Reading records: every fault is one line with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqkit_cli.demo import records as module
from mqkit_cli.demo.records import read_records
from mqkit_cli.errors import CommandError


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_lines_are_bodies_as_they_were_written(tmp_path: Path) -> None:
    path = write(tmp_path, "r.jsonl", '{"a":  1}\n\n ["x"]\r\n"\u2028"')
    found = read_records(path)
    assert [record.body for record in found] == [
        b'{"a":  1}',
        b'["x"]',
        '"\u2028"'.encode(),
    ]
    assert [record.place for record in found] == [f"{path}:1", f"{path}:3", f"{path}:4"]
    assert [dict(record.fields) for record in found] == [{"a": 1}, {}, {}]


def test_an_array_is_a_record_each(tmp_path: Path) -> None:
    found = read_records(write(tmp_path, "r.json", '[{"a": 1},\n {"a": "\\ud800"}]'))
    assert [record.body for record in found] == [b'{"a":1}', b'{"a":"\\ud800"}']


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("r.jsonl", '{"a": 1}\n{"a": }\n', r"r\.jsonl:2: not JSON: Expecting value at column 7"),
        ("r.json", "[1,\n2,,]", r"r\.json: not JSON: Expecting value at line 2, column 3"),
        ("r.json", '{"a": 1}', "expected an array"),
        ("r.jsonl", "\n \n", "there is no record in it"),
        ("r.json", "[]", "there is no record in it"),
        ("r.jsonl", b"\xff\xfe", "not UTF-8 text"),
        ("r.jsonl", "[" * 100_000, "nested too deep"),
    ],
)
def test_bad_input_is_one_line_with_its_place(
    tmp_path: Path, name: str, text: str | bytes, words: str
) -> None:
    with pytest.raises(CommandError, match=words) as caught:
        read_records(write(tmp_path, name, text))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"absent\.jsonl: can't be read: No such file"):
        read_records(tmp_path / "absent.jsonl")


def test_the_bounds_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "r.jsonl", "1\n2\n333\n")
    monkeypatch.setattr(module, "RECORDS_MAX", 2)
    with pytest.raises(CommandError, match="3 records; the demo takes 2"):
        read_records(path)
    monkeypatch.setattr(module, "RECORDS_MAX", 3)
    monkeypatch.setattr(module, "MESSAGE_BYTES_MAX", 2)
    with pytest.raises(CommandError, match=r"r\.jsonl:3: 3 bytes; a message has 2 at most"):
        read_records(path)
