"""cluster_metrics: the families that a node of a cluster gives, among the broker's own."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from reference_broker.http.metrics.cluster_metrics import Families, Family
from reference_broker.http.metrics.metrics import build_metrics_app
from reference_broker.runtime.cluster.metrics.family import counter, gauge, of_peer, summary
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio


class _Given:
    """Three families, one of each kind."""

    def families(self) -> Iterator[Family]:
        yield gauge("up", '1 if "up"', [(of_peer("b"), 1), (of_peer('"c"'), 0)])
        yield counter("lost_total", "Total number", [({}, 7)])
        yield summary("seconds", "Seconds", [({"kind": "txn"}, 3, 0.25)])


async def test_they_are_in_both_scrapes_of_the_whole(server: Server) -> None:
    given: Families = _Given()
    transport = httpx.ASGITransport(build_metrics_app(server, given))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as scraper:
        for path in ("/metrics", "/metrics/per-object"):
            answer = await scraper.get(path)
            found = {each.name: each for each in text_string_to_metric_families(answer.text)}
            assert "rabbitmq_queues" in found
            up = found["mqkit_cluster_up"]
            assert (up.type, up.documentation) == ("gauge", '1 if "up"')
            assert [(each.labels["peer"], each.value) for each in up.samples] == [
                ("mqkit@b", 1), ('mqkit@"c"', 0),
            ]  # fmt: skip
            lost = found["mqkit_cluster_lost"]
            assert (lost.type, lost.samples[0].name) == ("counter", "mqkit_cluster_lost_total")
            seconds = found["mqkit_cluster_seconds"]
            assert seconds.type == "summary"
            assert {each.name: each.value for each in seconds.samples} == {
                "mqkit_cluster_seconds_count": 3, "mqkit_cluster_seconds_sum": 0.25,
            }  # fmt: skip
        detailed = await scraper.get("/metrics/detailed?family=queue_metrics")
        assert "mqkit_cluster_" not in detailed.text


async def test_a_broker_on_its_own_has_none(api: httpx.AsyncClient) -> None:
    for path in ("/metrics", "/metrics/per-object"):
        assert "mqkit_cluster_" not in (await api.get(path)).text
