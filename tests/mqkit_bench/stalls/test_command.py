"""mqkit_bench.stalls.command: from options to a table and a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from mqkit_bench.stalls.catalogue import CATALOGUE
from mqkit_bench.stalls.command import chosen


def test_all_actions_without_a_name() -> None:
    assert chosen([]) == list(CATALOGUE.values())
    assert [action.name for action in chosen(["purge", "fork"])] == ["fork", "purge"]


def test_a_name_that_is_none_is_told() -> None:
    with pytest.raises(typer.BadParameter, match="'nonsense': one of nobody, fork"):
        chosen(["nonsense"])


@pytest.mark.slow
def test_an_action_prints_its_row_and_writes_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "mqkit_cli", "bench", "stalls", "--only", "nobody"]
    command += ["--plays", "1", "--scale", "0.01", "--no-rabbitmq", "--json", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stderr
    assert "| nothing: the probe alone |" in result.stdout
    (row,) = json.loads(file.read_text())
    assert (row["action"], len(row["plays"])) == ("nobody", 1)
