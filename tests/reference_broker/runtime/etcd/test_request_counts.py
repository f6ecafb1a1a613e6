"""request_counts: by the last part of the path, and those of several clients together."""

from __future__ import annotations

from reference_broker.runtime.etcd.request_counts import RequestCount, RequestCounts, sum_of


def test_requests_are_counted_by_kind() -> None:
    counts = RequestCounts()
    counts.add("/v3/kv/txn", 0.25, failed=False)
    before = counts.by_kind
    counts.add("/v3/kv/txn", 0.5, failed=True)
    counts.add("/v3/lease/keepalive", 1.0, failed=False)
    assert counts.by_kind == {"txn": (2, 1, 0.75), "keepalive": (1, 0, 1.0)}
    assert before == {"txn": (1, 0, 0.25)}, "who reads it on another thread goes on"


def test_clients_are_added_up() -> None:
    one, other = RequestCounts(), RequestCounts()
    one.add("/v3/kv/range", 0.5, failed=True)
    other.add("/v3/kv/range", 0.25, failed=False)
    other.add("/v3/watch", 8.0, failed=False)
    assert sum_of([one, other]) == {
        "range": RequestCount(2, 1, 0.75),
        "watch": RequestCount(1, 0, 8.0),
    }
    assert sum_of([]) == {}
