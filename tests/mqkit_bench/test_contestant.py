"""mqkit_bench.contestant: what the kernel and the management API account for."""

from __future__ import annotations

import pytest

from mqkit_bench import contestant as contestant_module
from mqkit_bench.contestant import Contestant, Counts
from mqkit_bench.report import Discrepancy
from mqkit_bench.server import ReferenceServer


@pytest.mark.parametrize("figure", ["cpu_s", "core_wait_s", "rss_mib"])
def test_the_kernel_accounts_for_a_process(server: ReferenceServer, figure: str) -> None:
    assert getattr(server.contestant, figure)() > 0


def test_what_it_read_from_disk_only_grows(server: ReferenceServer) -> None:
    assert server.contestant.disk_read_mib() <= server.contestant.disk_read_mib()


def test_no_alarm_is_on(contestant: Contestant) -> None:
    assert contestant.alarms() == []


def test_a_count_that_never_comes_is_a_discrepancy(
    contestant: Contestant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contestant_module, "COUNT_TIMEOUT_S", 0.0)
    assert contestant.counts(["no such queue"]) is None
    with pytest.raises(Discrepancy, match="should hold 1,000 ready and 2 unacked; it holds None"):
        contestant.expect(["no such queue"], Counts(1000, 2))
