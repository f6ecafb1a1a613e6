"""A real Prometheus scrapes the broker with docs/grafana/prometheus.yaml, every expression of the
dashboards has an answer, and the alerts fire for what they are named after. A second one
scrapes the nodes of a cluster, for the row of its metrics.

Debian's `prometheus` is looked for; `.ci/run` installs it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pika
import pytest
from ruamel.yaml import YAML

from mqkit.testing import Cluster, ClusterUnavailable, cluster
from mqkit.testing.servers.free_ports import free_ports

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "grafana"
BOARDS = [FOLDER / "broker.json", FOLDER / "queues.json"]
"""Those of a broker. That of an app: tests/mqkit/observation/whole/test_scrape.py."""
CLUSTER_ROW = "Cluster (nodes with --cluster-name)"
DEEP = 10_001
WAIT_S = 60


class NotStarted(Exception):
    """It listens, and says that it is not ready: on a slow machine somebody sees that."""


class Prometheus:
    """A server on a free port, which scrapes every second instead of every fifteen."""

    def __init__(self, binary: str, folder: Path, *targets: str) -> None:
        config = (FOLDER / "prometheus.yaml").read_text()
        config = config.replace("15s", "1s").replace("127.0.0.1:15692", '", "'.join(targets))
        (folder / "prometheus.yaml").write_text(config)
        shutil.copy(FOLDER / "alerts.yaml", folder)
        place = f"127.0.0.1:{free_ports(1)[0]}"
        self._log = (folder / "prometheus.log").open("w")
        self._process = subprocess.Popen(
            [
                binary, f"--config.file={folder / 'prometheus.yaml'}",
                f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address={place}",
            ],
            stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._client = httpx.Client(base_url=f"http://{place}", timeout=10)

    def query(self, expression: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("/api/v1/query", query=expression)["result"]
        return found

    def get(self, path: str, **params: str) -> dict[str, Any]:
        answer = self._client.get(path, params=params)
        if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            raise NotStarted
        body = answer.json()
        assert body["status"] == "success", (params, body)
        data: dict[str, Any] = body["data"]
        return data

    def eventually(self, expression: str) -> list[dict[str, Any]]:
        """The first answer that is not empty. It is asked until a scrape has it."""
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                if found := self.query(expression):
                    return found
            except (httpx.TransportError, NotStarted):  # it is not listening yet, or reads its log
                assert self._process.poll() is None, Path(self._log.name).read_text()
            assert time.monotonic() < deadline, f"no answer to {expression}"
            try:
                self._process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue

    def close(self) -> None:
        self._client.close()
        self._process.terminate()
        self._process.wait()
        self._log.close()


@pytest.fixture(scope="module")
def prometheus(
    reference_broker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    urls = (reference_broker.management_url, *reference_broker.others)
    targets = (url.removeprefix("http://") for url in urls)
    yield from _scraping(tmp_path_factory.mktemp("prometheus"), *targets)


def _scraping(folder: Path, *targets: str) -> Iterator[Prometheus]:
    binary = shutil.which("prometheus")
    if binary is None:
        pytest.skip("no prometheus here: apt-get install prometheus")
    server = Prometheus(binary, folder, *targets)
    try:
        server.eventually("up == 1")
        yield server
    finally:
        server.close()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    try:
        with cluster(nodes=2) as found:
            yield found
    except ClusterUnavailable as why:
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def of_cluster(nodes: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that scrapes two nodes, one of which has worked with a queue of the other."""
    parameters = [pika.URLParameters(url) for url in nodes.urls]
    with pika.BlockingConnection(parameters[0]) as a, pika.BlockingConnection(parameters[1]) as b:
        b.channel().queue_declare("elsewhere", durable=True)
        channel = a.channel()
        channel.confirm_delivery()
        channel.basic_publish("", "elsewhere", b"1")
        assert channel.basic_get("elsewhere", auto_ack=True)[2] == b"1"
    targets = (f"127.0.0.1:{node.management_port}" for node in nodes.nodes.values())
    yield from _scraping(tmp_path_factory.mktemp("of cluster"), *targets)


@pytest.fixture(scope="module")
def trouble(reference_broker: Any, prometheus: Prometheus) -> Iterator[None]:
    """One dead letter in a parking lot, one message for nobody, and one queue that is too deep."""
    nodes = 1 + len(reference_broker.others)
    prometheus.eventually(f'count(rabbitmq_queues{{job="mqkit"}}) == {nodes}')
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "grafana.parked"}
    with pika.BlockingConnection(pika.URLParameters(reference_broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare("grafana.parked")
        channel.queue_declare("grafana.work", arguments=dead)
        channel.queue_declare("grafana.deep")
        channel.basic_publish("", "grafana.work", b"bad")
        method, _, _ = channel.basic_get("grafana.work")
        assert method is not None
        channel.basic_reject(method.delivery_tag, requeue=False)
        channel.basic_publish("", "grafana.nobody", b"lost")
        for _ in range(DEEP):
            channel.basic_publish("", "grafana.deep", b"")
        channel.queue_declare("grafana.deep", passive=True)
        yield
        for queue in ("grafana.parked", "grafana.work", "grafana.deep"):
            channel.queue_delete(queue)


def expressions() -> list[Any]:
    return [
        each
        for path in BOARDS
        for panel in json.loads(path.read_text())["panels"]
        for each in _asked_by(path, panel)
    ]


def expressions_of_cluster() -> list[Any]:
    panels = json.loads(BOARDS[0].read_text())["panels"]
    (row,) = [panel for panel in panels if panel["title"] == CLUSTER_ROW]
    return [each for panel in row["panels"] for each in _asked_by(BOARDS[0], panel)]


def _asked_by(path: Path, panel: dict[str, Any]) -> Iterator[Any]:
    for target in panel.get("targets", ()):
        text = target["expr"].replace("$__rate_interval", "10s")
        for variable in ("instance", "vhost", "queue"):
            text = text.replace(f"${variable}", ".*")
        yield pytest.param(text, id=f"{path.stem}: {panel['title']} {target['refId']}")


@pytest.mark.parametrize("expression", expressions())
def test_every_panel_has_something_to_show(
    prometheus: Prometheus, trouble: None, expression: str
) -> None:
    assert "$" not in expression
    assert prometheus.eventually(expression)


@pytest.mark.parametrize(
    ("alert", "labels"),
    [
        ("DeadLetters", {"reason": "rejected"}),
        ("MessagesParked", {"vhost": "/", "queue": "grafana.parked"}),
        ("QueueDeep", {"vhost": "/", "queue": "grafana.deep"}),
        ("QueueWithoutConsumers", {"vhost": "/", "queue": "grafana.deep"}),
        ("MessagesUnroutable", {}),
    ],
)
def test_what_is_wrong_is_found(
    prometheus: Prometheus, trouble: None, alert: str, labels: dict[str, str]
) -> None:
    rows = prometheus.eventually(_expression(alert))
    assert any(labels.items() <= row["metric"].items() for row in rows), rows


@pytest.mark.parametrize(
    "alert", ["BrokerMemoryAlarm", "BrokerDiskAlarm", "BrokerStoreDamaged", "BrokerDown"]
)
def test_what_is_right_is_left_alone(prometheus: Prometheus, trouble: None, alert: str) -> None:
    prometheus.eventually('rabbitmq_queues{job="mqkit"}')
    assert prometheus.query(_expression(alert)) == []


@pytest.mark.parametrize("expression", expressions_of_cluster())
def test_every_panel_of_a_cluster_has_something_to_show(
    of_cluster: Prometheus, expression: str
) -> None:
    assert "$" not in expression
    assert of_cluster.eventually(expression)


@pytest.mark.parametrize(
    "alert", ["ClusterMemberMissing", "ClusterLinkDown", "ClusterEtcdErrors", "ClusterLeaseLow"]
)
def test_a_cluster_that_is_well_is_left_alone(of_cluster: Prometheus, alert: str) -> None:
    of_cluster.eventually("mqkit_cluster_links_lost_total")
    assert of_cluster.query(_expression(alert)) == []


def test_a_node_that_is_gone_and_an_etcd_that_is_away_are_found(
    of_cluster: Prometheus, nodes: Cluster
) -> None:
    """Plays last, as what it breaks is not mended."""
    here = f"127.0.0.1:{nodes['a'].management_port}"
    nodes.kill("b")
    (missing,) = of_cluster.eventually(_expression("ClusterMemberMissing"))
    assert missing["metric"]["instance"] == here
    (down,) = of_cluster.eventually(_expression("ClusterLinkDown"))
    assert (down["metric"]["instance"], down["metric"]["peer"]) == (here, "mqkit@b")
    nodes.etcd.stop()
    (low,) = of_cluster.eventually(_expression("ClusterLeaseLow"))
    assert low["metric"]["instance"] == here
    errors = of_cluster.eventually(_expression("ClusterEtcdErrors"))
    assert {row["metric"]["instance"] for row in errors} == {here}


def test_prometheus_takes_the_rules(prometheus: Prometheus) -> None:
    answer = prometheus.get("/api/v1/rules")
    loaded = {rule["name"]: rule for rule in answer["groups"][0]["rules"]}
    assert set(loaded) == {rule["alert"] for rule in _rules()}
    assert {rule.get("lastError", "") for rule in loaded.values()} == {""}


def _rules() -> list[dict[str, Any]]:
    alerts = YAML(typ="safe").load(FOLDER / "alerts.yaml")
    return [rule for group in alerts["groups"] for rule in group["rules"]]


def _expression(alert: str) -> str:
    (found,) = [rule["expr"] for rule in _rules() if rule["alert"] == alert]
    return str(found)
