"""In the worlds in which mutants are looked for, nothing but the mutant is wrong."""

from __future__ import annotations

import pytest

from mutants.worlds import (
    Worlds,
    in_portions,
    paging,
    running,
    small,
    through_the_folder,
    with_a_bit_flipped,
    with_feature,
    with_many_requeues,
)
from reference_broker.core.channel.consumer import Consumer
from reference_broker.simulation.clients.features import FEATURES
from reference_broker.simulation.report import run_world
from reference_broker.simulation.world import World
from reference_broker.store import Log
from reference_broker.store.log.foreign_ranges_by_segment import AckRow


@pytest.mark.parametrize(
    "worlds",
    [
        in_portions,
        paging,
        running,
        small,
        through_the_folder,
        with_a_bit_flipped,
        with_many_requeues,
    ],
)
def test_nothing_is_wrong_without_a_mutant(worlds: Worlds) -> None:
    assert [run_world(World(worlds(seed))).failure for seed in range(3)] == [""] * 3


@pytest.mark.parametrize("name", list(FEATURES))
def test_a_feature_is_at_work(name: str) -> None:
    for seed in range(3):
        world = World(with_feature(name)(seed))
        world.run()
        ledger = world.features[0].feature.ledger
        assert any(post.confirmed_ms is not None for post in ledger.posts.values())


def test_clients_bring_runs_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of one or two messages, and some of many."""
    longest: dict[str, int] = {}

    def count(owner: type, name: str) -> None:
        method, longest[name] = getattr(owner, name), 0

        def counted(*given: object) -> int:
            length: int = method(*given)
            longest[name] = max(longest[name], length)
            return length

        monkeypatch.setattr(owner, name, counted)

    for name in ("publish_run", "ack_run"):
        count(Log, name)
    count(AckRow, "go_on")
    count(Consumer, "deliver_run")
    for seed in range(3):
        assert run_world(World(running(seed))).failure == ""
    assert min(longest.values()) > 5, longest
