"""mqkit_spark.archive: mqkit as one file."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from mqkit_spark.archive import PACKAGES, package_zip


def test_it_has_every_module_and_the_version(tmp_path: Path) -> None:
    path = package_zip(tmp_path / "mqkit.zip")
    names = zipfile.ZipFile(path).namelist()
    for package in PACKAGES:
        assert f"{package}/__init__.py" in names
    assert "mqkit_spark/source/batch/reader.py" in names
    assert "mqkit-0.1.0.dist-info/METADATA" in names
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_same_packages_are_the_same_octets(tmp_path: Path) -> None:
    one, other = (Path(package_zip(str(tmp_path / name))) for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


def test_what_a_worker_imports_is_in_it(tmp_path: Path) -> None:
    path = package_zip(tmp_path / "mqkit.zip")
    code = (
        "import sys; from importlib.metadata import version; import mqkit.transport.blocking_choice"
        " as choice; choice.BlockingChoice.NATIVE.transport();"
        "print(version('mqkit'), choice.__file__, 'asyncio' in sys.modules)"
    )
    done = subprocess.run(
        # Without the packages of this installation.
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    version, file, _ = done.stdout.split()
    assert version == "0.1.0"
    assert file.startswith(path)
