"""The contents of the wheel, and the packages that `pip install mqkit` alone may pull in."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    ("", "mqkit"),
    ("", "reference_broker"),
    ("cli", "mqkit_cli"),
    ("spark", "mqkit_spark"),
    ("spark", "pyspark_mqkit"),
]
"""Each package that the wheel has, and the folder that it stands in."""
TOP_LEVEL = {package for _, package in SOURCES}


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_nothing_else_lands_in_site_packages(wheel_names: list[str]) -> None:
    """No folder called bench, cli or spark, and not the benchmarks: they are for a clone."""
    tops = {name.split("/")[0] for name in wheel_names}
    assert {top for top in tops if not top.endswith(".dist-info")} == TOP_LEVEL


def test_every_room_is_in_the_wheel(wheel_names: list[str]) -> None:
    """With its ``__init__.py``: a folder without one would be a namespace, and its law unread."""
    rooms = {
        str(module.parent.relative_to(ROOT / base))
        for base, package in SOURCES
        for module in (ROOT / base / package).rglob("*.py")
    }
    assert len(rooms) > 60
    assert rooms <= {name.removesuffix("/__init__.py") for name in wheel_names}


def test_the_packages_are_typed(wheel_names: list[str]) -> None:
    for package in ("mqkit", "reference_broker", "mqkit_cli", "mqkit_spark"):
        assert f"{package}/py.typed" in wheel_names


def test_the_management_page_is_in_the_wheel(wheel_names: list[str]) -> None:
    page = ROOT / "reference_broker" / "page"
    files = {f"reference_broker/page/{path.name}" for path in page.iterdir() if path.is_file()}
    assert "reference_broker/page/index.html" in files
    assert files <= set(wheel_names)


def test_the_schema_of_a_topology_is_in_the_wheel(wheel_names: list[str]) -> None:
    assert "mqkit/topology/file/schema.json" in wheel_names


def test_the_client_alone_pulls_in_no_web_server_spark_or_typer() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = " ".join(project["dependencies"])
    for heavy in ("pyspark", "typer", "uvicorn", "starlette"):
        assert heavy not in base


def test_every_dependency_has_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [
        line for group in project["optional-dependencies"].values() for line in group
    ]
    loose = [line for line in wanted if "<" not in line and not line.startswith("mqkit[")]
    assert loose == []


def test_every_script_leads_to_a_function() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(scripts) == {"mqkit", "mqkit-rabbitmqctl"}
    for place in scripts.values():
        module, _, name = place.partition(":")
        assert callable(getattr(import_module(module), name))


def test_importing_the_client_imports_neither_the_broker_nor_spark() -> None:
    code = (
        "import sys, mqkit; bad = [m for m in ('reference_broker', 'pyspark', 'typer', 'uvicorn')"
        " if m in sys.modules]; sys.exit(', '.join(bad) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
