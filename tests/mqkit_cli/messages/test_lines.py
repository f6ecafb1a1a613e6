"""Messages from lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqkit_cli.errors import CommandError
from mqkit_cli.messages.lines import bodies, checked_count


def test_a_line_is_a_message_as_it_stands() -> None:
    lines = [b" a \n", b"\n", b"  \r\n", b"b\r\n", b"\xff"]
    assert list(bodies(lines)) == [b" a ", b"b", b"\xff"]


@pytest.mark.parametrize(
    ("name", "data", "count"),
    [("a.jsonl", b'{"a": 1}\n\n2\n"x"', 3), ("a.NDJSON", b"1\n", 1), ("a.txt", b"{\n\n{\n", 2)],
)
def test_count(tmp_path: Path, name: str, data: bytes, count: int) -> None:
    (tmp_path / name).write_bytes(data)
    assert checked_count(tmp_path / name) == count


@pytest.mark.parametrize("bad", [b"{", b"\xff", b"[" * 100_000, b"1 2"])
def test_a_line_that_is_not_json_has_its_number(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"1\n\n" + bad + b"\n2\n")
    with pytest.raises(CommandError, match=r"a\.jsonl:3: not JSON"):
        checked_count(tmp_path / "a.jsonl")
