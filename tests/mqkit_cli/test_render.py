"""The output of commands: tables, JSON, and printable text."""

from __future__ import annotations

import json

import pytest

from mqkit_cli.render import PIPE_WIDTH, body_json, body_text, printable, write_json, write_table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain grüezi", "plain grüezi"),
        ("a\tb\nc\r", "a\\tb\\nc\\r"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\u202eevil", "\\u202eevil"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_bodies() -> None:
    assert body_text(b"a" * 10, 6) == "aaa..."
    assert body_text(b"a" * 6, 6) == "aaaaaa"
    assert body_text(b"\xff\n") == "\\xff\\n"
    assert body_json("ü".encode()) == {"body": "ü"}
    assert body_json(b"\xff") == {"body_base64": "/w=="}


def test_a_table_shows_markup_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(("name", "count"), [("[red]x[/red]", 5), ("\x1b[2J", 1_000)])
    assert capsys.readouterr().out.splitlines() == [
        "name          count",
        "[red]x[/red]      5",
        "\\x1b[2J        1000",
    ]


def test_a_long_cell_is_folded_and_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(("name",), [("x" * (PIPE_WIDTH + 50),)])
    assert capsys.readouterr().out.count("x") == PIPE_WIDTH + 50


def test_json_of_what_json_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"bytes": b"a\xff", "set": {1}, "ü": "ü"}, lines=True)
    out = capsys.readouterr().out
    assert json.loads(out) == {"bytes": "a\\xff", "set": "{1}", "ü": "ü"}
    assert out.count("\n") == 1
