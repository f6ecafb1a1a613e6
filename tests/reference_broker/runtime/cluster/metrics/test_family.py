"""family: names, labels and values as scrapers see them."""

from __future__ import annotations

from reference_broker.runtime.cluster.metrics.family import (
    Family,
    Sample,
    counter,
    gauge,
    of_peer,
    summary,
)


def test_names_have_the_prefix_and_a_summary_has_two_samples() -> None:
    assert gauge("up", "text", [(of_peer("b", lane="ask"), 1)]) == Family(
        "mqkit_cluster_up",
        "gauge",
        "text",
        [Sample("mqkit_cluster_up", {"peer": "mqkit@b", "lane": "ask"}, 1)],
    )
    assert counter("x_total", "", [({}, 2)]).samples == [Sample("mqkit_cluster_x_total", {}, 2)]
    assert summary("s", "", [({"kind": "k"}, 3, 0.5)]).samples == [
        Sample("mqkit_cluster_s_count", {"kind": "k"}, 3),
        Sample("mqkit_cluster_s_sum", {"kind": "k"}, 0.5),
    ]
