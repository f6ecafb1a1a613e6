"""The end of a script does not depend on how much work a turn has time for.

Each script is played on a broker whose turns never end, and on one whose turns are over after a
unit of work. The rules by which the two may differ are those that
:mod:`reference_broker.testing.scripts` states: confirms are grouped otherwise, and two requests
that race within one read may end otherwise.
"""

from __future__ import annotations

import pytest

from reference_broker.testing.scripts.comparing import difference
from reference_broker.testing.scripts.playing import Play
from reference_broker.testing.scripts.writing import write

SCRIPTS = 500
BLOCK = 10
"""Scripts of one test: one takes 70 ms."""


def found_in(seed: int, units: int = 1) -> str:
    script, whole = write(seed)
    portions = Play(units)
    for given in script:
        portions.take(given)
    return difference(whole, portions)


@pytest.mark.parametrize("block", range(SCRIPTS // BLOCK))
def test_turns_of_one_unit_end_as_turns_without_an_end(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        print(f"script {seed}")
        assert found_in(seed) == ""


def test_other_turns_do_so_too() -> None:
    for units in (2, 3, 7, 50):
        print(f"{units} units")
        assert found_in(units, units) == ""
