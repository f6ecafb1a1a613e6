"""mqkit_bench.broker.relay: the floor passes on what it got, no more and no less."""

from __future__ import annotations

import pytest

from mqkit_bench.broker import catalogue
from mqkit_bench.broker.contest import play
from mqkit_bench.broker.relay import NAME, relay_stage
from mqkit_bench.broker.scenario import Scenario

RELAYED = (
    catalogue.persistent(100),
    catalogue.auto_ack(16),
    catalogue.publish_only(100),
    catalogue.ten_to_ten(70_000),
)


@pytest.mark.parametrize("scenario", RELAYED, ids=lambda scenario: scenario.name)
def test_a_round_adds_up(scenario: Scenario) -> None:
    with relay_stage(scenario) as staged:
        result = play(staged, 0.05)
        traffic = staged.traffic
        assert staged.contestant.name == NAME
        assert traffic.sent == result.messages > 0
        assert traffic.confirmed == (traffic.sent if scenario.confirms else 0)
        assert traffic.received == (0 if scenario.is_one_way else traffic.sent)
        assert result.rss_mib is not None
        assert result.rss_mib > 0
