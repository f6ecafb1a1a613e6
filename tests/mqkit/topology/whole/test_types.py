"""``Topology.of`` as mypy and pyright see it: they know the file's keys."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
from mqkit import App
from mqkit.topology import Topology

Topology.of(queues={"q": {"retry": {"after": ["1s", "5s"], "then": "park"}}, "plain": None})
Topology.of(exchanges={"e": {"type": "topic", "bind": [{"from": "f", "key": "#"}]}}, vhost="/")
Topology.of(queues={"q": {"dead_letter": {"exchange": ""}, "arguments": {"x-a": [1]}}})
App(topology=Topology.of())
App(topology=["base.yaml", "prod.yaml"])
Topology.of(queues={"q": {"max_lenght": 5}})  # wrong
Topology.of(queues={"q": {"durable": "yes"}})  # wrong
Topology.of(queues={"q": {"overflow": "drop-tail"}})  # wrong
Topology.of(queues={"q": {"bind": [{"key": "a"}]}})  # wrong
Topology.of(queues={"q": {"retry": {"after": "1s", "then": "wait"}}})  # wrong
Topology.of(queue={})  # wrong
App(topology=[5])  # wrong
"""
WRONG = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if "# wrong" in line}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.slow
def test_mypy_knows_the_keys(program: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--no-error-summary"]
    run = subprocess.run([*command, str(program)], capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    assert {int(line) for line in re.findall(r":(\d+): error:", run.stdout)} == WRONG


@pytest.mark.slow
def test_pyright_knows_the_keys(program: Path) -> None:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    run = subprocess.run([*command, str(program)], capture_output=True, text=True, check=False)
    found = json.loads(run.stdout)["generalDiagnostics"]
    lines = {item["range"]["start"]["line"] + 1 for item in found if item["severity"] == "error"}
    assert lines == WRONG
