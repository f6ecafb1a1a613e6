"""metadata_metrics: the requests to etcd, and the lease."""

from __future__ import annotations

from reference_broker.runtime.cluster.metrics.metadata_metrics import etcd_families
from reference_broker.runtime.etcd.request_counts import RequestCount


def test_a_watch_is_counted_and_has_no_time() -> None:
    counts = {"txn": RequestCount(4, 1, 0.5), "watch": RequestCount(2, 2, 900.0)}
    found = {
        sample.name.removeprefix("mqkit_cluster_"): dict(sample.labels)
        for family in etcd_families(counts, 3.5)
        for sample in family.samples
    }
    values = {
        (sample.name.removeprefix("mqkit_cluster_"), *sample.labels.values()): sample.value
        for family in etcd_families(counts, 3.5)
        for sample in family.samples
    }
    assert values == {
        ("etcd_requests_total", "txn"): 4,
        ("etcd_requests_total", "watch"): 2,
        ("etcd_request_errors_total", "txn"): 1,
        ("etcd_request_errors_total", "watch"): 2,
        ("etcd_request_duration_seconds_count", "txn"): 4,
        ("etcd_request_duration_seconds_sum", "txn"): 0.5,
        ("lease_remaining_seconds",): 3.5,
    }
    assert found["lease_remaining_seconds"] == {}
