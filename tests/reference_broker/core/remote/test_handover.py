"""handover: what another node says of a message that it was handed."""

from __future__ import annotations

import pytest

from reference_broker.core.remote.handover import Outcome, hand_over
from reference_broker.testing.homes.scripted_home import ScriptedHome
from reference_broker.testing.homes.scripted_nodes import content


@pytest.fixture
def home() -> ScriptedHome:
    return ScriptedHome()


@pytest.fixture
def told(home: ScriptedHome) -> list[Outcome]:
    """The outcome of a message for two queues, once there is one."""
    outcomes: list[Outcome] = []
    hand_over(home, (7, 8), content(b"x"), outcomes.append)
    assert outcomes == []
    return outcomes


def test_the_home_has_it(home: ScriptedHome, told: list[Outcome]) -> None:
    (published,) = home.published
    assert (published.queue_ids, published.content.body) == ((7, 8), b"x")
    home.confirm()
    assert told == [Outcome.TAKEN]


def test_a_queue_of_it_is_full(home: ScriptedHome, told: list[Outcome]) -> None:
    home.refuse(1)
    assert told == []
    home.confirm()
    assert told == [Outcome.REFUSED]


def test_it_is_lost_with_the_home(home: ScriptedHome, told: list[Outcome]) -> None:
    home.lose()
    assert told == [Outcome.LOST]


def test_one_for_a_home_that_is_down_is_lost(home: ScriptedHome) -> None:
    outcomes: list[Outcome] = []
    home.is_up = False
    hand_over(home, (7,), content(b"x"), outcomes.append)
    home.refuse(1)
    home.confirm()
    assert outcomes == [Outcome.LOST]
