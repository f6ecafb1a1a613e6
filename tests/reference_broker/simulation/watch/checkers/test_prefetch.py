from __future__ import annotations

from typing import Any

import pytest

from reference_broker.simulation.events.events import Settlement
from reference_broker.simulation.watch.checkers import PrefetchChecker, Violation


@pytest.fixture
def told(script: Any) -> Any:
    return script(PrefetchChecker())


def test_one_more_than_the_prefetch_is_one_too_many(told: Any) -> None:
    told.deliver(1, prefetch=2)
    told.deliver(2, prefetch=2)
    with pytest.raises(Violation, match="prefetch of 2 holds 3"):
        told.deliver(3, prefetch=2)


@pytest.mark.parametrize("how", list(Settlement))
def test_every_settlement_makes_room(told: Any, how: Settlement) -> None:
    for number in range(5):
        told.settle(told.deliver(number, prefetch=1), how)


def test_consumers_count_for_themselves_and_0_is_no_limit(told: Any) -> None:
    told.deliver(1, prefetch=1)
    told.deliver(2, "other", prefetch=1, consumer="another")
    told.deliver(3, session=2, prefetch=1)
    for number in range(10, 20):
        told.deliver(number, session=3)


def test_a_channel_may_have_a_prefetch_for_all_its_consumers(told: Any) -> None:
    told.deliver(1, channel_prefetch=2)
    told.deliver(2, "other", channel_prefetch=2, consumer="another")
    with pytest.raises(Violation, match="channel with a prefetch of 2 holds 3"):
        told.deliver(3, channel_prefetch=2)


def test_a_consumer_that_was_begun_again_counts_from_0(told: Any) -> None:
    told.deliver(1, prefetch=1, consumer="q/0")
    told.deliver(2, prefetch=1, consumer="q/1")


def test_what_was_asked_for_or_needs_no_ack_does_not_count(told: Any) -> None:
    for number in range(5):
        told.deliver(number, prefetch=1, channel_prefetch=1, consumer="")
        told.settle(told.deliver(number, prefetch=1, no_ack=True), Settlement.AUTO)
