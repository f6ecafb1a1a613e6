"""``python -m mqkit_spark zip OUT.zip``."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from mqkit_spark.__main__ import USAGE, main


def test_the_archive_is_written_and_its_path_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "mqkit.zip")
    assert main(["zip", out]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert zipfile.is_zipfile(out)


@pytest.mark.parametrize("arguments", [[], ["zip"], ["zap", "x"], ["zip", "x", "y"]])
def test_anything_else_is_answered_with_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"{USAGE}\n"


def test_a_place_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "nowhere" / "mqkit.zip")
    assert main(["zip", out]) == 1
    assert capsys.readouterr().err == f"{out} can't be written: No such file or directory\n"
