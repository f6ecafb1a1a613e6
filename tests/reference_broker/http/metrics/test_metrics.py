"""``/metrics``: who may read it, and what it says, in the words of RabbitMQ's plugin."""

from __future__ import annotations

from typing import Any

import aio_pika
import httpx
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import PlainTextResponse

from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.http.metrics import metrics
from reference_broker.http.metrics.metrics import LoopbackMetrics
from reference_broker.runtime.config import Address, ServerConfig
from reference_broker.runtime.server import Server
from reference_broker.testing.homes.scripted_home import ScriptedHome

pytestmark = pytest.mark.anyio
FREE = Address("127.0.0.1", 0)

NAME = 'sl/ash "é"\\'

DASHBOARDS = (
    "rabbitmq_build_info", "rabbitmq_identity_info", "rabbitmq_connections", "rabbitmq_channels",
    "rabbitmq_consumers", "rabbitmq_queues", "rabbitmq_queue_messages_ready",
    "rabbitmq_queue_messages_unacked", "rabbitmq_global_messages_received_total",
    "rabbitmq_global_messages_confirmed_total", "rabbitmq_global_messages_routed_total",
    "rabbitmq_global_messages_unroutable_dropped_total", "rabbitmq_connections_opened_total",
    "rabbitmq_global_messages_unroutable_returned_total", "rabbitmq_global_publishers",
    "rabbitmq_global_messages_delivered_consume_auto_ack_total", "rabbitmq_global_consumers",
    "rabbitmq_global_messages_delivered_consume_manual_ack_total",
    "rabbitmq_global_messages_delivered_get_auto_ack_total",
    "rabbitmq_global_messages_delivered_get_manual_ack_total",
    "rabbitmq_global_messages_redelivered_total", "rabbitmq_global_messages_get_empty_total",
    "rabbitmq_global_messages_acknowledged_total", "rabbitmq_connections_closed_total",
    "rabbitmq_channels_opened_total", "rabbitmq_channels_closed_total",
    "rabbitmq_queues_declared_total", "rabbitmq_queues_created_total",
    "rabbitmq_queues_deleted_total", "rabbitmq_process_resident_memory_bytes",
    "rabbitmq_resident_memory_limit_bytes", "rabbitmq_disk_space_available_bytes",
    "rabbitmq_disk_space_available_limit_bytes", "rabbitmq_process_open_fds",
    "rabbitmq_process_max_fds", "rabbitmq_process_open_tcp_sockets",
    "rabbitmq_alarms_memory_used_watermark", "rabbitmq_alarms_free_disk_space_watermark",
)  # fmt: skip
"""Metrics that RabbitMQ's own Grafana dashboard (RabbitMQ-Overview) asks for."""


async def scrape(api: httpx.AsyncClient, path: str = "/metrics") -> dict[str, Metric]:
    answer = await api.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = list(text_string_to_metric_families(answer.text))
    assert len({family.name for family in families}) == len(families)
    return {family.name: family for family in families}


def value(families: dict[str, Metric], sample_name: str, **labels: str) -> float:
    found = [
        sample.value
        for family in families.values()
        for sample in family.samples
        if sample.name == sample_name and labels.items() <= sample.labels.items()
    ]
    assert len(found) == 1, (sample_name, labels, found)
    return float(found[0])


@pytest.fixture
async def busy(server: Server) -> None:
    vhost = server.broker.vhosts["/"]
    vhost.declare_queue("dead")
    vhost.declare_queue("short", arguments={"x-max-length": 0})
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    vhost.declare_queue(NAME, arguments={"x-max-length": 2, **dead})
    vhost.bind("amq.fanout", NAME, "", destination_is_queue=True)
    url = f"amqp://guest:guest@127.0.0.1:{server.amqp_port}/"
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel(on_return_raises=False)
        fanout = await channel.get_exchange("amq.fanout")
        for _ in range(3):
            await fanout.publish(aio_pika.Message(b"abc"), "")
        for key in ("short", "nowhere"):
            await channel.default_exchange.publish(aio_pika.Message(b"abc"), key)


async def test_what_dashboards_ask_for_is_there(busy: None, api: httpx.AsyncClient) -> None:
    families = await scrape(api)
    samples = {sample.name for family in families.values() for sample in family.samples}
    assert set(DASHBOARDS) <= samples
    identity = families["rabbitmq_identity_info"].samples[0]
    assert set(identity.labels) == {
        "rabbitmq_node", "rabbitmq_cluster", "rabbitmq_cluster_permanent_id",
    }  # fmt: skip
    assert families["rabbitmq_connections_opened"].type == "counter"
    assert families["rabbitmq_queue_messages_ready"].type == "gauge"


async def test_sums(busy: None, api: httpx.AsyncClient) -> None:
    families = await scrape(api)
    assert value(families, "rabbitmq_queue_messages_ready") == 3
    assert value(families, "rabbitmq_queue_messages_bytes") == 9
    assert value(families, "rabbitmq_queues") == 3
    assert value(families, "rabbitmq_global_messages_received_total", protocol="amqp091") == 5
    assert value(families, "rabbitmq_global_messages_routed_total") == 4
    assert value(families, "rabbitmq_global_messages_unroutable_returned_total") == 1
    maxlen = "rabbitmq_global_messages_dead_lettered_maxlen_total"
    classic = "rabbit_classic_queue"
    assert value(families, maxlen, dead_letter_strategy="at_most_once", queue_type=classic) == 1
    assert value(families, maxlen, dead_letter_strategy="disabled", queue_type=classic) == 1
    assert value(families, "rabbitmq_channels_closed_total") == 1


async def test_what_went_out_by_the_type_of_the_queue(
    server: Server, api: httpx.AsyncClient
) -> None:
    """A queue that is gone, and a virtual host, stay counted."""
    assert (await api.put("/api/vhosts/other")).status_code == 201
    for vhost in ("%2F", "other"):
        url = f"amqp://guest:guest@127.0.0.1:{server.amqp_port}/{vhost}"
        async with await aio_pika.connect(url) as connection:
            channel = await connection.channel()
            limits: dict[str, Any] = {"x-queue-type": "quorum", "x-delivery-limit": 0}
            queues = [
                await channel.declare_queue("classic"),
                await channel.declare_queue("quorum", durable=True, arguments=limits),
            ]
            for queue, count in zip(queues, (1, 2), strict=True):
                for _ in range(count):
                    message = aio_pika.Message(b"1")
                    await channel.default_exchange.publish(message, queue.name)
                    await (await queue.get()).ack()
            await channel.default_exchange.publish(aio_pika.Message(b"1"), "quorum")
            await (await queues[1].get()).nack()
            assert await queues[1].get(fail=False) is None
            await queues[1].delete(if_unused=False, if_empty=False)
    assert (await api.delete("/api/vhosts/other")).status_code == 204
    families = await scrape(api)

    def counted(name: str, **labels: str) -> list[float]:
        return [
            value(families, f"rabbitmq_global_messages_{name}_total", queue_type=each, **labels)
            for each in ("rabbit_classic_queue", "rabbit_quorum_queue")
        ]

    assert counted("acknowledged", protocol="amqp091") == [2, 4]
    assert counted("delivered_get_manual_ack") == counted("delivered") == [2, 6]
    assert counted("get_empty") == [0, 2]
    died = "rabbitmq_global_messages_dead_lettered_delivery_limit_total"
    assert value(families, died, dead_letter_strategy="disabled") == 2  # of quorum queues only


@pytest.mark.parametrize("slice_samples", [1, 500])
async def test_a_sample_for_each_object(
    busy: None, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, slice_samples: int
) -> None:
    monkeypatch.setattr(metrics, "SLICE_SAMPLES", slice_samples * 10)
    families = await scrape(api, "/metrics/per-object")
    ready = "rabbitmq_queue_messages_ready"
    assert value(families, ready, vhost="/", queue=NAME) == 2
    assert value(families, ready, queue="dead") == 1


async def test_details_of_the_families_that_are_asked_for(
    busy: None, api: httpx.AsyncClient
) -> None:
    families = await scrape(
        api, "/metrics/detailed?family=queue_coarse_metrics&family=vhost_status"
    )
    assert set(families) == {
        "rabbitmq_detailed_queue_messages_ready", "rabbitmq_detailed_queue_messages_unacked",
        "rabbitmq_detailed_queue_messages", "rabbitmq_cluster_vhost_status",
        "rabbitmq_build_info", "rabbitmq_identity_info",
    }  # fmt: skip
    elsewhere = await scrape(api, "/metrics/detailed?family=queue_coarse_metrics&vhost=no.such")
    assert elsewhere["rabbitmq_detailed_queue_messages"].samples == []
    assert set(await scrape(api, "/metrics/detailed?family=no.such")) == {
        "rabbitmq_build_info", "rabbitmq_identity_info",
    }  # fmt: skip
    assert (await api.get("/metrics/no.such")).text == "Unknown Registry"


async def answered(client: str, headers: dict[str, str], path: str = "/metrics") -> str:
    door = LoopbackMetrics(PlainTextResponse("the app"), PlainTextResponse("metrics"))
    transport = httpx.ASGITransport(door, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as caller:
        return (await caller.get(path, headers=headers)).text


async def test_only_this_machine_is_let_in_without_a_login() -> None:
    assert await answered("127.0.0.1", {}) == "metrics"
    assert await answered("::1", {}, "/metrics/per-object") == "metrics"
    assert await answered("203.0.113.9", {}) == "the app"
    assert await answered("203.0.113.9", {"x-forwarded-for": "127.0.0.1"}) == "the app"
    assert await answered("127.0.0.1", {"x-forwarded-for": "203.0.113.9"}) == "the app"
    assert await answered("127.0.0.1", {}, "/metricsx") == "the app"


async def test_a_listener_of_its_own() -> None:
    server = Server(ServerConfig(amqp=FREE, http=None, prometheus=FREE))
    await server.start()
    try:
        url = f"http://127.0.0.1:{server.prometheus_port}"
        async with httpx.AsyncClient(base_url=url, trust_env=False) as scraper:
            assert value(await scrape(scraper), "rabbitmq_queues") == 0
            assert (await scraper.get("/api/overview")).status_code == 404
        listening = [each.protocol for each in server.node().listening]
        assert listening == ["amqp", "http/prometheus"]
    finally:
        await server.stop()


async def test_a_queue_of_another_node_is_counted_there(
    server: Server, api: httpx.AsyncClient, busy: None
) -> None:
    before = await scrape(api)
    vhost = server.broker.vhosts["/"]
    vhost.enter_queue(QueueDefinition(1 << 40, "elsewhere", False, {}), ScriptedHome())
    vhost.queues["elsewhere"].published = 1_000
    after = await scrape(api)
    assert value(before, "rabbitmq_queues") > 0
    names = ("rabbitmq_queues", "rabbitmq_queue_messages_published_total")
    for name in names:
        assert value(after, name) == value(before, name)
    for path in ("/metrics/per-object", "/metrics/detailed?family=queue_metrics"):
        assert 'queue="elsewhere"' not in (await api.get(path)).text
