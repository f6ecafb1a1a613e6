from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mqkit_cli.app import app
from mqkit_cli.errors import CommandError
from mqkit_cli.new.command import write_folder


def test_a_folder_is_there_as_a_whole(tmp_path: Path) -> None:
    write_folder(tmp_path / "a" / "b", {"x": "1", "tests/y": "2"})
    assert (tmp_path / "a" / "b" / "tests" / "y").read_text() == "2"
    assert [each.name for each in (tmp_path / "a").iterdir()] == ["b"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    write_folder(tmp_path / "empty", {"x": "1"})
    (tmp_path / "empty" / "x").unlink()
    write_folder(tmp_path / "empty", {"x": "2"})
    assert (tmp_path / "empty" / "x").read_text() == "2"


@pytest.mark.parametrize("what", ["folder", "file"])
def test_nothing_that_is_there_is_touched(tmp_path: Path, what: str) -> None:
    target = tmp_path / "taken"
    if what == "folder":
        target.mkdir()
        (target / "mine").write_text("mine")
    else:
        target.write_text("mine")
    with pytest.raises(CommandError, match="there already"):
        write_folder(target, {"x": "1"})
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]
    assert (target / "mine" if what == "folder" else target).read_text() == "mine"


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="can't be written"):
        write_folder(tmp_path / "file" / "x", {"x": "1"})


def test_a_bad_name_is_a_line() -> None:
    result = CliRunner().invoke(app, ["new", "Not A Name"])
    assert isinstance(result.exception, CommandError)


@pytest.mark.slow
def test_the_tests_of_a_new_service_pass(tmp_path: Path) -> None:
    """They are those that its makers begin with: a handler, a parked message, six minutes of
    retries."""
    folder = tmp_path / "order-mails"
    result = CliRunner().invoke(app, ["new", "order-mails", str(folder), "--queue", "mails"])
    assert result.exit_code == 0, result.output
    assert f"{folder / 'tests' / 'test_service.py'}" in result.stdout
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "3 passed" in done.stdout
