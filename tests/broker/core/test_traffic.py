"""Sums of what is gone."""

from __future__ import annotations

from reference_broker.core.traffic import Traffic, VHostTraffic


def test_both_together() -> None:
    assert Traffic(publish=2, ack=1).plus(Traffic(publish=3, get=4)) == Traffic(
        publish=5, ack=1, get=4
    )


def test_a_virtual_host_that_is_deleted_stays_counted() -> None:
    past, other = VHostTraffic(), VHostTraffic()
    past.queues_created, past.past = 1, Traffic(publish=1)
    other.queues_created, other.past, other.sent_bytes = 2, Traffic(publish=2), 3
    past.absorb(other)
    assert (past.queues_created, past.past, past.sent_bytes) == (3, Traffic(publish=3), 3)
