"""mqkit_bench.stalls.busy_publisher: a rate beside others."""

from __future__ import annotations

import pytest

from mqkit_bench.contestant import Contestant
from mqkit_bench.filler import WINDOW_MESSAGES
from mqkit_bench.session import Session
from mqkit_bench.stalls.busy_publisher import publish_busily, rate_during
from mqkit_bench.worker import Worker


@pytest.mark.slow
def test_confirms_are_counted_while_it_waits(contestant: Contestant) -> None:
    session = Session(contestant.address)
    session.declare("busy")

    def until_more_than_a_window_has_come() -> None:
        enough = session.ready("busy") + 2 * WINDOW_MESSAGES
        while session.ready("busy") < enough:
            pass

    with Worker(publish_busily, contestant.address, "busy") as publisher:
        rate = rate_during(publisher, until_more_than_a_window_has_come)
    assert rate > 0
    session.delete("busy")
    session.close()
