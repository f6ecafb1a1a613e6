"""node_metrics: two processes and what each of them tells of the other."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pika
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from mqkit.testing import Cluster, ClusterUnavailable, cluster

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[5] / "docs" / "monitoring.md"
WAIT_S = 60.0


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    try:
        with cluster(nodes=2) as found:
            yield found
    except ClusterUnavailable as why:
        pytest.skip(str(why))


def _scrape(nodes: Cluster, name: str) -> dict[str, Metric]:
    answer = httpx.get(f"http://127.0.0.1:{nodes[name].management_port}/metrics")
    found = list(text_string_to_metric_families(answer.text))
    assert len({family.name for family in found}) == len(found)
    return {each.name: each for each in found if each.name.startswith("mqkit_cluster_")}


def _value(families: dict[str, Metric], sample_name: str, **labels: str) -> float:
    (found,) = [
        sample.value
        for family in families.values()
        for sample in family.samples
        if sample.name == f"mqkit_cluster_{sample_name}" and labels.items() <= sample.labels.items()
    ]
    return float(found)


def _eventually(nodes: Cluster, name: str, holds: Callable[[dict[str, Metric]], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds(_scrape(nodes, name)):
        assert time.monotonic() < deadline


def test_a_node_tells_of_its_cluster(nodes: Cluster) -> None:
    b = pika.BlockingConnection(pika.URLParameters(nodes["b"].url))
    a = pika.BlockingConnection(pika.URLParameters(nodes["a"].url))
    with a, b:
        b.channel().queue_declare("elsewhere", durable=True)
        channel = a.channel()
        channel.confirm_delivery()
        before = _scrape(nodes, "a")
        for _ in range(3):
            channel.basic_publish("", "elsewhere", b"x" * 1_000)
        assert channel.basic_get("elsewhere", auto_ack=True)[2]
        channel.basic_consume("elsewhere", lambda *_: channel.stop_consuming(), auto_ack=True)
        channel.start_consuming()
        after = _scrape(nodes, "a")
    for name in ("members", "members_live"):
        assert _value(after, name) == 2
    assert _value(after, "members_linked") == 1
    assert _value(after, "link_up", peer="mqkit@b") == 1
    assert _value(after, "remote_queues", peer="mqkit@b") == 1
    confirmed = {"peer": "mqkit@b", "outcome": "confirmed"}
    assert _value(after, "remote_publishes_total", **confirmed) == 3
    assert _value(after, "deliveries_total", direction="received") == 2
    assert _value(after, "queue_questions_total") >= 1
    sent = {"lane": "publish", "direction": "sent"}
    assert _value(after, "link_frames_total", **sent) > 0
    octets = [_value(each, "link_bytes_total", **sent) for each in (before, after)]
    assert octets[1] - octets[0] > 3_000
    assert _value(after, "applied_revision") > 0
    assert _value(after, "watch_revision") >= _value(after, "applied_revision")
    assert 0 < _value(after, "lease_remaining_seconds") <= 5
    assert _value(after, "proposals_total") >= 1
    assert _value(after, "etcd_requests_total", kind="txn") >= 1
    assert _value(after, "etcd_request_errors_total", kind="txn") == 0
    assert _value(after, "etcd_request_duration_seconds_sum", kind="txn") > 0
    assert _value(after, "etcd_request_duration_seconds_count", kind="grant") == 1


def test_the_page_lists_them_all(nodes: Cluster) -> None:
    rows = re.findall(r"^\| `mqkit_cluster_(\w+)`", PAGE.read_text(), re.MULTILINE)
    samples = {
        sample.name.removeprefix("mqkit_cluster_").removesuffix("_sum").removesuffix("_count")
        for family in _scrape(nodes, "a").values()
        for sample in family.samples
    }
    assert sorted(rows) == sorted(samples)


def test_every_text_says_what_is_counted(nodes: Cluster) -> None:
    for family in _scrape(nodes, "a").values():
        assert family.documentation.split()[0] in {"Number", "Total", "Bytes", "Seconds", "1",
                                                   "Revision"}, family  # fmt: skip
        assert (family.type == "counter") is family.documentation.startswith("Total")


def test_a_node_that_is_gone_is_told_and_what_it_counted_stays(nodes: Cluster) -> None:
    """Plays last: nobody starts the other node again."""
    before = _scrape(nodes, "a")
    nodes.kill("b")
    _eventually(nodes, "a", lambda found: _value(found, "members_live") == 1)
    found = _scrape(nodes, "a")
    assert _value(found, "members") == 2
    assert _value(found, "link_up", peer="mqkit@b") == 0
    assert _value(found, "links_lost_total", peer="mqkit@b") == 1
    sent = {"lane": "publish", "direction": "sent"}
    assert _value(found, "link_bytes_total", **sent) >= _value(before, "link_bytes_total", **sent)
    assert "mqkit_cluster_link_waiting_bytes" not in {
        sample.name for family in found.values() for sample in family.samples
    }
