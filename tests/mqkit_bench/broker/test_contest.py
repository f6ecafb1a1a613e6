"""mqkit_bench.broker.contest: a warm-up that does not count, and turns."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from mqkit_bench.broker import catalogue, contest
from mqkit_bench.broker.contest import compete, without_collection
from mqkit_bench.broker.entrant import RELAY, Entrant


def test_entrants_take_turns(reference: Entrant, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(contest, "say", said.append)
    ours, floor = compete([reference, RELAY], catalogue.persistent(100), 2, 0.05)
    labels = [line.split(": ")[1:3] for line in said]
    assert labels == [
        [label, name]
        for label in ("warm-up", "round 1", "round 2")
        for name in (reference.name, RELAY.name)
    ]
    assert (len(ours.rounds), len(floor.rounds)) == (2, 2)
    assert ours.rate_ratio is None
    assert floor.rate_ratio is not None
    assert all(each.messages > 0 for each in ours.rounds)
    assert ours.messages_per_sync is not None
    assert floor.messages_per_sync is None


def test_the_relay_sits_out_what_it_can_not_play(reference: Entrant) -> None:
    (only,) = compete([reference, RELAY], catalogue.fan_out(10), 1, 0.01)
    assert only.name == reference.name


def test_the_collector_rests() -> None:
    with without_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_broker_s_memory_is_its_process_s(reference: Entrant, server_folder: Path) -> None:
    (found,) = compete([reference], catalogue.publish_only(10), 1, 0.01)
    assert found.rss_mib is not None
    assert found.rss_mib > 0
    assert server_folder.exists()
