"""mqkit_bench.stalls.probe: waits of a client beside others."""

from __future__ import annotations

import pytest

from mqkit_bench.contestant import Contestant
from mqkit_bench.session import Address
from mqkit_bench.stalls.probe import VHOST, Line, Waits, probing


def test_the_longest_and_the_quantile() -> None:
    waits = Waits.of([0.001] * 98 + [0.5, 0.002])
    assert (waits.messages, waits.longest_ms, waits.p99_ms) == (100, 500.0, 2.0)


def test_no_message_has_no_wait() -> None:
    with pytest.raises(IndexError):
        Waits.of([])


def test_both_connections_are_measured(contestant: Contestant) -> None:
    with probing(contestant) as probe:
        for _ in range(2):
            for word in ("begin", "end"):
                probe.tell(word)
            probed = probe.report(30)
            assert probed.is_answered
            assert (probed.transient.messages, probed.persistent.messages) > (0, 0)


def test_a_message_without_a_confirm_counts_with_its_wait(contestant: Contestant) -> None:
    with probing(contestant):
        there = contestant.address
        line = Line(Address(there.host, there.port, vhost=VHOST), persistent=False)
        line.publish(10.0)
        waits = line.result(12.5)
        assert (waits.messages, waits.longest_ms) == (1, 2500.0)
        assert not line.is_confirmed
        line.close()
