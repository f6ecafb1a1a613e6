"""The budget of a turn."""

from __future__ import annotations

from reference_broker.core.work.budget import UNLIMITED_UNITS, Budget


def test_a_turn_has_the_units_that_it_was_given() -> None:
    budget = Budget(100)
    budget.left -= 130
    assert budget.left <= 0

    budget.refill()

    assert budget.left == 100, "what one step took too much is not the next turn's"


def test_without_a_bound_a_turn_never_ends() -> None:
    budget = Budget()
    budget.left -= 1 << 40
    assert 0 < budget.left < UNLIMITED_UNITS
