"""A failing scenario is told in a few lines, the command that replays it among them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_broker.simulation.cut import WHOLE, Cut
from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.plan.scenario import draw
from reference_broker.simulation.shortening.telling import cut_short, described

Planted = Callable[[str], Scenario]


@pytest.mark.parametrize(
    ("mutant", "law"),
    [("store.ack_not_logged", "acks"), ("features.returns_not_counted_in_the_log", "quorum")],
)
def test_a_planted_bug_has_a_story_of_under_60_lines(
    mutant: str, law: str, planted: Planted
) -> None:
    scenario = planted(mutant)
    lines = cut_short(scenario, tries=30, now=lambda: 0.0).splitlines()
    assert 5 < len(lines) < 60
    assert lines[0].startswith("cut       ")
    assert lines[1].startswith(
        f"  python -m reference_broker.simulation --seed {scenario.seed} --cut "
    )
    assert lines[2].startswith("story     ")
    reason = f"  FAILED      {law}: message "
    assert lines[-1].startswith(reason)
    number = int(lines[-1].removeprefix(reason).split()[0])
    assert any(f"publishes message {number}" in line for line in lines)


def test_a_seed_that_holds_every_law_has_none() -> None:
    assert cut_short(draw(7, 2_000_000)) == ""


def test_a_cut_is_described_in_words() -> None:
    cut = Cut((0, 2), (), ("shared-0",), (), 3, 1_260_000)
    words = "clients 0, 2; no features; queue shared-0; no faults; 3 actions of each client; 1.3 s"
    assert described(cut) == words
    assert described(WHOLE) == "nothing"
