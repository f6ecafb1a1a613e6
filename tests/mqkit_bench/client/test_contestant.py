"""mqkit_bench.client.contestant: who plays what, and that all of it is done on either broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pkgutil import resolve_name

import pytest

from mqkit_bench.client.contestant import BASELINE, BY_NAME, CONTESTANTS, ClientContestant
from mqkit_bench.client.meter import Meter
from mqkit_bench.client.queue import ClientQueue
from mqkit_bench.client.scenario import Load, Scenario
from mqkit_bench.contestant import Contestant

PLAYED = [
    pytest.param(each, scenario, id=f"{each.name}: {scenario}")
    for each in CONTESTANTS
    for scenario in Scenario
    if scenario in each.enters and scenario not in each.lacks
]


@pytest.mark.parametrize(("player", "scenario"), PLAYED)
def test_every_message_is_confirmed_or_acked(
    player: ClientContestant,
    scenario: Scenario,
    contestant: Contestant,
    unique: Callable[[str], str],
) -> None:
    if player.version is None:
        pytest.skip(f"{player.distribution} is not installed")
    address = contestant.address
    load = Load(unique("q"), 1010, 100).of(scenario)
    queue = ClientQueue(address)
    queue.prepare(load, scenario)
    meter = Meter()
    url = f"amqp://{address.username}:{address.password}@{address.host}:{address.port}/"
    done = player.play(scenario)(url, load, meter)
    queue.check(load, scenario, player.name, done)
    assert meter.measured(done).seconds > 0


@pytest.mark.parametrize("player", CONTESTANTS, ids=lambda each: each.name)
def test_a_module_plays_what_is_said_of_it(player: ClientContestant) -> None:
    if player.version is None:
        pytest.skip(f"{player.distribution} is not installed")
    assert set(resolve_name(player.plays)) == player.enters - set(player.lacks)


def test_what_is_not_installed_says_so_and_is_not_loaded() -> None:
    absent = replace(BASELINE, distribution="no-such-client", plays="no_such_client:PLAYS")
    assert absent.version is None
    assert absent.why_not(Scenario.PUBLISH_1) == "not installed"
    assert BASELINE.why_not(Scenario.PUBLISH_1) is None


def test_what_a_library_lacks_is_said_whether_it_is_installed_or_not() -> None:
    pika = BY_NAME["pika"]
    for each in (pika, replace(pika, distribution="no-such-client")):
        assert each.why_not(Scenario.PUBLISH_100) == "waits for each confirm: one in flight"
    with pytest.raises(KeyError):
        pika.play(Scenario.PUBLISH_100)
