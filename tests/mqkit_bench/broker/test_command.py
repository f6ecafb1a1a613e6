"""mqkit_bench.broker.command: from options to a table and a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from mqkit_bench.broker.catalogue import CATALOGUE
from mqkit_bench.broker.command import chosen, modes, others
from mqkit_bench.broker.entrant import RABBITMQ, RELAY


def test_all_scenarios_have_their_own_bodies() -> None:
    made = list(chosen([], []))
    assert len(made) == sum(len(entry.bodies) for entry in CATALOGUE.values())


def test_named_scenarios_have_the_bodies_that_were_asked_for() -> None:
    made = list(chosen(["fan-out", "persistent"], [5, 6]))
    assert [(each.name, each.body_bytes) for each in made] == [
        ("persistent", 5),
        ("persistent", 6),
        ("fan-out 5", 5),
        ("fan-out 5", 6),
    ]


def test_a_name_that_is_none_is_told() -> None:
    with pytest.raises(typer.BadParameter, match="'nonsense': one of persistent"):
        list(chosen(["nonsense"], []))


def test_rabbitmq_competes_once() -> None:
    assert others(True, []) == [RABBITMQ]
    assert others(True, ["x=y", RABBITMQ]) == [RABBITMQ, "x=y"]
    assert others(False, ["x=y"]) == ["x=y"]


def test_each_entrant_s_mode_is_stated() -> None:
    assert modes([RELAY]) == "* uvloop relay: sync before a confirm: no disk."


@pytest.mark.slow
def test_a_run_prints_its_table_and_writes_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    words = "bench broker --scenario persistent --body-bytes 16 --rounds 1 --seconds 0.05"
    command = [sys.executable, "-m", "mqkit_cli", *words.split(), "--no-rabbitmq"]
    result = subprocess.run(
        [*command, "--json", str(file)], capture_output=True, text=True, timeout=100, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "| persistent | 16 B | mqkit reference broker |" in result.stdout
    assert "fdatasync" in result.stdout
    ours, relay = json.loads(file.read_text())
    assert ours["rate_ratio"] is None
    assert relay["rate_ratio"]["median"] > 0
