"""All mutants are in the registry, under names that tell them apart."""

from __future__ import annotations

import re
from pathlib import Path

from mutants import planted
from mutants.registry import MUTANTS, PLANTED
from reference_broker.simulation.clients.features import FEATURES
from reference_broker.simulation.watch import checkers

MARK = re.compile(r"^@mutant\(", re.MULTILINE)
BESIDE_CHECKERS = {"content", "liveness", "lateness", "protocol"}
"""Laws that no checker holds, but the clients and the world themselves."""


def test_each_function_that_is_marked_is_there() -> None:
    folder = Path(planted.__file__).parent
    marked = sum(len(MARK.findall(path.read_text())) for path in folder.glob("[!_]*.py"))
    assert len(MUTANTS) == marked >= 106
    assert {path.stem for path in folder.glob("[!_]*.py")} == {
        module.__name__.rpartition(".")[2] for module in PLANTED
    }


def test_the_laws_that_should_find_them_exist() -> None:
    classes = [getattr(checkers, name) for name in checkers.__all__]
    names = {getattr(each, "name", "") for each in classes} | set(FEATURES) | BESIDE_CHECKERS
    unknown = {law for mutant in MUTANTS.values() for law in mutant.laws} - names
    assert unknown == set()
