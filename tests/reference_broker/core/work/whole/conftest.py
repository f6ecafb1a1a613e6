"""A script of one client, played with a bounded turn beside an unbounded one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from reference_broker.core.work.budget import UNLIMITED_UNITS
from reference_broker.testing.two_tenants import TwoTenants

Arrange: TypeAlias = Callable[[TwoTenants], Callable[[], object]]

UNITS = 100
"""Units of a turn: a twentieth of what it is, and the scripts as much shorter."""

OVERDRAWN_MAX = 60
"""Units that a turn may take beyond its own: the last step is done whole, a declaration say, and
its record with it."""

WAIT_MAX = 2
"""Turns that the other tenant may wait: the one whose units are just spent, and one more."""

CALLS_PER_UNIT = 60
"""Calls of functions for a unit of work. A message is about 20; what is not counted in units shows
here."""


def _compare(arrange: Arrange, least_turns: int, overdrawn: int = OVERDRAWN_MAX) -> TwoTenants:
    free = TwoTenants()
    action = arrange(free)
    free.bound(UNLIMITED_UNITS)
    free.play(action)

    tenants = TwoTenants()
    action = arrange(tenants)
    tenants.bound(UNITS)
    turns = tenants.play(action)
    print(f"{turns} turns, {tenants.lone.overdrawn} overdrawn, {tenants.most_calls} calls")
    assert turns >= least_turns, "the script is too short to say anything"
    assert tenants.queues() == free.queues()
    assert tenants.told() == free.told()
    assert tenants.lone.overdrawn <= overdrawn
    assert tenants.longest_wait <= WAIT_MAX
    assert tenants.most_calls <= CALLS_PER_UNIT * (UNITS + overdrawn)
    return tenants


@pytest.fixture
def played() -> Callable[..., TwoTenants]:
    """Play what ``arrange`` returns, after it has prepared the broker: once without a bound, and
    once with one, where it must take ``least_turns``. The end is the same, no turn is long (beyond
    ``overdrawn``, for a step that is larger), and the other tenant does not wait."""
    return _compare
