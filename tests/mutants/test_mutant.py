"""A mutant has the name of its place, the laws that should find it, and worlds to look in."""

from __future__ import annotations

import pytest

from mutants.mutant import mutant
from mutants.worlds import running, small
from reference_broker.simulation.report import SeedResult, run_world
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.world import World


@mutant("acks", "books", worlds=running, showed_at=7)
def with_everything(patch: pytest.MonkeyPatch) -> None:
    """Nothing is wrong with it."""


@mutant()
def with_nothing(patch: pytest.MonkeyPatch) -> None:
    """Nothing is wrong with it."""


def failing(error: Exception) -> SeedResult:
    class Failing(World):
        def run(self) -> None:
            raise error

    return run_world(Failing(small(1)))


def test_what_is_said_above_a_function_is_in_its_mutant() -> None:
    assert with_everything.name == "test_mutant.with_everything"
    assert (with_everything.laws, with_everything.showed_at) == (("acks", "books"), 7)
    assert (with_everything.worlds, with_nothing.worlds) == (running, small)
    assert with_everything.source.startswith('@mutant("acks", "books"')


def test_it_is_found_by_its_laws_and_by_any_failure_where_it_has_none() -> None:
    acks, order = failing(Violation("acks", "back")), failing(Violation("order", "wrong"))
    assert with_everything.is_found_by(acks)
    assert not with_everything.is_found_by(order)
    assert with_nothing.is_found_by(order)
    assert with_nothing.is_found_by(failing(KeyError("q")))
