"""A cut is a value in words, and leaves of a scenario what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_broker.simulation.cut import (
    EXAMPLE,
    WHOLE,
    Cut,
    needed_queue,
    parse,
    queue_names,
)
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.plan.scenario import draw, with_features

SCENARIO = with_features(replace(draw(7), bit_rot=False), ["quorum", "delayed"])
"""Three clients; shared-0, and solo-0 to solo-2, of which three have a queue for dead letters."""


@pytest.mark.parametrize(
    "cut",
    [
        WHOLE,
        Cut(clients=(0, 2), features=("quorum",), queues=("shared-0", "solo-1")),
        Cut(clients=(), features=(), queues=(), strikes=()),
        Cut(strikes=(1, 12), actions=0, duration_us=12_500_000),
        Cut(duration_us=1),
        Cut(duration_us=60_000_000),
    ],
    ids=Cut.words,
)
def test_its_words_are_made_the_same_cut_again(cut: Cut) -> None:
    assert parse(cut.words()) == cut


def test_the_example_of_a_refusal_is_a_cut() -> None:
    assert parse(EXAMPLE).words() == EXAMPLE


@pytest.mark.parametrize("word", ["clients", "clients=x", "fires=1", "seconds=", "seconds=inf"])
def test_what_is_no_cut_is_refused(word: str) -> None:
    if word == "clients":
        assert parse(word) == Cut(clients=())
        return
    with pytest.raises(ValueError, match=f"'{word}' is no part of a cut; write some of clients="):
        parse(word)


def test_the_whole_leaves_a_scenario_as_it_is() -> None:
    assert WHOLE.of(SCENARIO) == SCENARIO
    assert WHOLE.clients_of(SCENARIO) == SCENARIO.clients


def test_features_and_time_are_what_it_says() -> None:
    scenario = Cut(features=("delayed",), duration_us=5).of(SCENARIO)
    assert scenario == replace(with_features(SCENARIO, ["delayed"]), duration_us=5)


def test_clients_keep_their_numbers() -> None:
    cut = Cut(clients=(2,))
    scenario = cut.of(SCENARIO)
    assert [client.index for client in cut.clients_of(scenario)] == [2]
    assert scenario.drainer().index == 3


def test_a_queue_goes_with_that_of_its_dead_letters_and_with_its_consumers() -> None:
    assert queue_names(SCENARIO) == ("shared-0", "solo-0", "solo-1", "solo-2")
    scenario = Cut(queues=("shared-0", "solo-1")).of(SCENARIO)
    assert [queue.name for queue in scenario.queues] == ["shared-0", "dead-solo-1", "solo-1"]
    taken = {
        each.queue
        for client in scenario.clients
        for channel in client.channels
        for each in (*channel.consumes, *channel.gets)
    }
    assert taken <= {"shared-0", "dead-solo-1", "solo-1"}


def test_the_queue_that_the_end_needs_has_to_stay() -> None:
    assert needed_queue(SCENARIO) == "shared-0"
    with pytest.raises(ValueError, match="the queue 'shared-0' has to stay"):
        Cut(queues=("solo-0",)).of(SCENARIO)


def test_that_may_be_the_one_whose_dead_letters_are_probed() -> None:
    queues = (QueuePlan("dead-a"), QueuePlan("a", dead_letters_to="dead-a"), QueuePlan("b"))
    scenario = replace(SCENARIO, queues=queues)
    assert scenario.probe[1] == "dead-a"
    assert needed_queue(scenario) == "a"
    assert Cut(queues=("a",)).of(scenario).queues == queues[:2]


@pytest.mark.parametrize(
    ("cut", "line"),
    [
        (Cut(clients=(0, 9)), "no clients=9 in this seed, which has 0,1,2"),
        (Cut(features=("vhosts",)), "no features=vhosts in this seed, which has quorum,delayed"),
        (Cut(queues=("shared-0", "q")), "no queues=q in this seed, which has shared-0,solo-0"),
    ],
)
def test_what_a_scenario_has_not_is_refused(cut: Cut, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        cut.of(SCENARIO)
