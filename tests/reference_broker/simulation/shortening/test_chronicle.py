"""A chronicle has what happened to clients, to the broker and in features, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from reference_broker.simulation.plan.plans import Scenario
from reference_broker.simulation.plan.scenario import draw, with_features
from reference_broker.simulation.report import run_world
from reference_broker.simulation.shortening.chronicle import Chronicle
from reference_broker.simulation.world import World

Planted = Callable[[str], Scenario]

SCENARIO = with_features(
    replace(draw(7, 10_000_000), bit_rot=False, fault_pause_us=(1_000_000, 3_000_000)), ["quorum"]
)


def test_all_that_clients_do_and_are_told_is_in_it() -> None:
    world = World(SCENARIO)
    chronicle = Chronicle(world)
    world.run()
    events = chronicle.happenings()
    assert [event.us for event in events] == sorted(event.us for event in events)
    of_clients = [event.text for event in events if not event.feature]
    for what, count in (
        ("publishes message", "published"),
        ("is told of the confirm", "confirmed"),
        ("is handed message", "delivered"),
        ("START: ", "starts"),
    ):
        assert sum(what in text for text in of_clients) == world.history.counts[count] > 0
    assert sum(text.startswith("FAULT") for text in of_clients) == len(world.faults.struck) > 0
    assert any("client 0, channel 1, sends ack of" in text for text in of_clients)
    assert any(text.startswith("the last client, channel 1, publishes") for text in of_clients)
    assert not any("session" in text for text in of_clients)


def test_what_happens_in_a_feature_is_told_under_its_name() -> None:
    world = World(SCENARIO)
    chronicle = Chronicle(world)
    world.run()
    events = [event for event in chronicle.happenings() if event.feature]
    assert {event.feature for event in events} == {"quorum"}
    published = [event for event in events if " publishes " in event.text]
    assert len(published) == len(world.features[0].feature.ledger.posts) > 0
    assert all("counted" in event.queues for event in published)
    for what in ("is told of the confirm of", "is handed", "takes for good"):
        assert any(f"the client of 'quorum' {what} message " in event.text for event in events)


def test_a_run_with_a_chronicle_is_the_same_run() -> None:
    watched = World(SCENARIO)
    Chronicle(watched)
    alone = World(SCENARIO)
    watched.run()
    alone.run()
    assert watched.history.trace_hash == alone.history.trace_hash


def test_the_event_that_broke_the_law_is_the_last(planted: Planted) -> None:
    world = World(planted("features.returns_not_counted_in_the_log"))
    chronicle = Chronicle(world)
    result = run_world(world)
    reason = re.match(r"quorum: message (\d+) came with a delivery count", result.failure)
    assert reason is not None, result.failure
    last = chronicle.happenings()[-1]
    assert last.text == f"the client of 'quorum' is handed message {reason[1]}, 'counted'"
