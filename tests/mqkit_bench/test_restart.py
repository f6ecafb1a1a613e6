"""mqkit_bench.restart: what was confirmed is counted after it, and the clock runs forward."""

from __future__ import annotations

from contextlib import closing

import pytest

from mqkit_bench import contestant as contestant_module
from mqkit_bench.filler import fill
from mqkit_bench.report import Discrepancy
from mqkit_bench.restart import Ending, restart
from mqkit_bench.ring import Ring
from mqkit_bench.server import ReferenceServer
from mqkit_bench.session import Session

QUEUES = ["bench.restart.1", "bench.restart.2"]


@pytest.mark.slow
def test_both_endings_and_a_wrong_count(
    server: ReferenceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Session(server.contestant.address)) as control:
        for queue in QUEUES:
            control.declare(queue)
    fill(server.contestant, Ring.round_robin(QUEUES, 100), 500, lambda _: None)
    for ending in Ending:
        result = restart(server, ending, QUEUES, 500)
        assert (result.ending, result.recovered) == (ending.value, 500)
        assert 0 < result.ready_s <= result.first_delivery_s
    monkeypatch.setattr(contestant_module, "COUNT_TIMEOUT_S", 0.0)
    with pytest.raises(Discrepancy, match="should hold 501 ready"):
        restart(server, Ending.KILL, QUEUES, 501)
    with closing(Session(server.contestant.address)) as control:
        for queue in QUEUES:
            control.delete(queue)
