"""The view of a run: bars for a person, lines for a file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from mqkit_cli.demo import view as module
from mqkit_cli.demo.journal import Event, Journal
from mqkit_cli.demo.view import make_view


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path) as opened:
        opened.write(Event.CONFIRMED, "q", "a")
        yield opened


def test_a_file_gets_lines_only(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    long_line = "[b]not markup[/b] " + "x" * 200
    with make_view(Console(file=out, width=80), journal, 4) as view:
        view.say(long_line)
        view.tick()
        assert out.getvalue() == f"{long_line}\n"
        monkeypatch.setattr(module, "PLAIN_INTERVAL_S", 0)
        view.tick()
    assert out.getvalue().splitlines()[1] == (
        "    ... published 0, confirmed 1, processed 0, retried 0, parked 0, replayed 0"
    )


def test_a_terminal_gets_bars_below_the_lines(journal: Journal) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    with make_view(console, journal, 4) as view:
        view.say("a line that stays")
        view.tick()
    shown = out.getvalue()
    assert "a line that stays" in shown
    assert "1 of 4" in shown
    assert "retried 0, parked 0, replayed 0" in shown
