"""The search for the demo's own files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqkit.topology import load
from mqkit_cli.demo.example_data import RECORDS, TOPOLOGY, example_file
from mqkit_cli.errors import CommandError


def test_the_repository_has_them() -> None:
    assert len(json.loads(example_file(RECORDS, "--input").read_text())) == 20_000
    assert load(example_file(TOPOLOGY, "--topology")).queue("delays") is not None


def test_the_package_comes_first(tmp_path: Path) -> None:
    for folder in ("package", "repository"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / TOPOLOGY).touch()
    folders = (tmp_path / "package", tmp_path / "repository")
    assert example_file(TOPOLOGY, "--topology", folders) == folders[0] / TOPOLOGY


def test_without_them_an_option_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="did not come with this install: give --input FILE"):
        example_file(RECORDS, "--input", (tmp_path,))
