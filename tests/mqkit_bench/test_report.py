"""mqkit_bench.report: tables and JSON."""

from __future__ import annotations

import json
from pathlib import Path

from mqkit_bench.report import markdown, write_json
from mqkit_bench.restart import Restart


def test_a_table_is_markdown() -> None:
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n|---|---|\n| 1 | 2 |"


def test_figures_are_written_where_asked(tmp_path: Path) -> None:
    restart = Restart("clean", 0.5, 1.0, 1.5, 10, 90.0)
    write_json(None, [restart])
    write_json(tmp_path / "figures.json", [restart])
    (row,) = json.loads((tmp_path / "figures.json").read_text())
    assert row == {
        "ending": "clean",
        "stop_s": 0.5,
        "ready_s": 1.0,
        "first_delivery_s": 1.5,
        "recovered": 10,
        "rss_mib": 90.0,
    }
