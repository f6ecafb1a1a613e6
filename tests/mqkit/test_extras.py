"""Advice for somebody who lacks an extra of the wheel."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from mqkit.extras import MODULES, OURS, advice

ROOT = Path(__file__).resolve().parents[2]


def missing(name: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("name", "extra", "line"),
    [
        ("typer", "cli", "typer is not installed; run: pip install 'mqkit[cli]'"),
        (
            "starlette.routing",
            "cli",
            "starlette is not installed; run: pip install 'mqkit[broker]'",
        ),
        (
            "prometheus_client.core",
            "metrics",
            "prometheus_client is not installed; run: pip install 'mqkit[metrics]'",
        ),
        (
            "prometheus_client",
            "cli",
            "prometheus_client is not installed; run: pip install 'mqkit[broker]'",
        ),
        ("pyspark.sql", "spark", "pyspark is not installed; run: pip install 'mqkit[spark]'"),
        # What a requirement of ours requires is in no table.
        ("shellingham", "cli", "shellingham is not installed; run: pip install 'mqkit[cli]'"),
    ],
)
def test_the_line_names_the_extra(name: str, extra: str, line: str) -> None:
    assert advice(missing(name), extra) == line


@pytest.mark.parametrize("name", [*sorted(OURS), "mqkit.nothing", "reference_broker.core.x", ""])
def test_a_module_of_ours_is_a_defect_and_gets_no_advice(name: str) -> None:
    assert advice(missing(name), "cli") is None


def distribution(requirement: str) -> str:
    """The normalized name in a requirement like ``uvicorn[standard]>=0.34,<1``."""
    match = re.match(r"[\w.-]+", requirement)
    assert match is not None
    return match[0].lower().replace("_", "-")


NEIGHBOURS = {"opentelemetry-sdk", "opentelemetry-semantic-conventions"}
"""Distributions with modules in the same namespace package as those of an extra."""


@pytest.mark.parametrize("extra", MODULES)
def test_the_modules_of_an_extra_are_those_of_its_requirements(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = {
        distribution(line)
        for line in project["optional-dependencies"][extra]
        if not line.startswith("mqkit[")
    }
    known = packages_distributions()
    brought = {
        name.lower().replace("_", "-")
        for module in MODULES[extra]
        for name in known.get(module, ())
    }
    if not required <= {
        name.lower().replace("_", "-") for names in known.values() for name in names
    }:
        pytest.skip(f"mqkit[{extra}] is not installed whole")
    assert brought - NEIGHBOURS == required
