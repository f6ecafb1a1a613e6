"""mqkit_bench.client.rounds: a warm-up that does not count, turns, and rows that say why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mqkit_bench.client.contestant import BASELINE, BY_NAME
from mqkit_bench.client.rounds import ClientStanding, Target, compete
from mqkit_bench.client.scenario import Load, Scenario
from mqkit_bench.contestant import Contestant
from mqkit_bench.worker import WorkerFailed

SCENARIOS = (Scenario.PUBLISH_100, Scenario.CONSUME_ACK)


@pytest.fixture
def target(contestant: Contestant) -> Target:
    address = contestant.address
    return Target(contestant.name, f"amqp://{address.host}:{address.port}/", address)


@pytest.mark.slow
def test_contestants_take_turns_after_a_warm_up(
    target: Target, unique: Callable[[str], str]
) -> None:
    said: list[str] = []
    two = [BY_NAME["pika"], BASELINE]
    standings = compete(target, two, SCENARIOS, Load(unique("q"), 60, 100), 2, said.append)
    turns = [("publish-100", ("aio-pika",)), ("consume-ack", ("pika", "aio-pika"))]
    assert [line.split(": ")[:3] for line in said] == [
        [label, scenario, name]
        for scenario, names in turns
        for label in ("warm-up", "round 1", "round 2")
        for name in names
    ]
    assert [(each.scenario, each.name, len(each.rounds)) for each in standings] == [
        ("publish-100", "pika", 0),
        ("publish-100", "aio-pika", 2),
        ("consume-ack", "pika", 2),
        ("consume-ack", "aio-pika", 2),
    ]
    assert {one.messages for each in standings for one in each.rounds} == {60}


def test_what_is_not_installed_is_a_row(target: Target, unique: Callable[[str], str]) -> None:
    absent = replace(BASELINE, distribution="no-such-client")
    unconfirmed = replace(BY_NAME["pika, unconfirmed"], distribution="no-such-client")
    load = Load(unique("q"), 60, 100)
    standings = compete(target, [absent, unconfirmed], SCENARIOS, load, 1, lambda _: None)
    assert standings == [
        ClientStanding(scenario, "aio-pika", None, "not installed") for scenario in SCENARIOS
    ]


@pytest.mark.slow
def test_a_client_that_fails_is_named(target: Target, unique: Callable[[str], str]) -> None:
    nowhere = replace(target, url="amqp://127.0.0.1:1/")
    load, said = Load(unique("q"), 1, 1), list[str]()
    with pytest.raises(WorkerFailed, match="play_rounds: AMQPConnectionError"):
        compete(nowhere, [BY_NAME["pika"]], [Scenario.CONSUME_ACK], load, 1, said.append)
    assert not said
