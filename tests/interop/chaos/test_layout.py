"""The names that the run deletes are the names that mqkit gives."""

from __future__ import annotations

from interop.chaos.layout import TIERS, WORK, all_queues, lot_of, tiers_of
from mqkit.retry.duration import parse_duration
from mqkit.retry.names import parking_lot_name, tier_name


def test_tiers_and_lots_have_the_names_of_mqkit() -> None:
    for queue in WORK:
        assert tiers_of(queue) == tuple(tier_name(queue, parse_duration(tier)) for tier in TIERS)
        assert lot_of(queue) == parking_lot_name(queue)


def test_no_queue_is_listed_twice() -> None:
    assert len(set(all_queues())) == len(all_queues())
