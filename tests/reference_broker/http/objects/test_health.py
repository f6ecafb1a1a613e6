"""Health checks, alike by both brokers."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from reference_broker.core.alarms import Alarm
from reference_broker.runtime.server import Server
from reference_broker.testing.apis.peer_apis import PeerApis

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("health/checks/alarms", {"status": "ok"}),
        ("health/checks/local-alarms", {"status": "ok"}),
        ("health/checks/virtual-hosts", {"status": "ok"}),
        ("health/checks/node-is-quorum-critical",
         {"status": "ok", "reason": "single node cluster"}),
        ("health/checks/node-is-mirror-sync-critical",
         {"status": "ok", "reason": "single node cluster"}),
        ("health/checks/certificate-expiration/1/months", {"status": "ok"}),
        ("health/checks/protocol-listener/AMQP091", {"status": "ok", "protocol": "AMQP091"}),
        ("health/checks/protocol-listener/ui", {"status": "ok", "protocol": "ui"}),
        ("healthchecks/node", {"status": "ok"}),
        ("aliveness-test/%2F", {"status": "ok"}),
    ],
)  # fmt: skip
async def test_well(place: Any, path: str, body: Any) -> None:
    answer = await place.api.get(f"/api/{path}")
    assert answer.status_code == 200
    if "protocol" in body:  # RabbitMQ shows the protocol's own name for some aliases
        assert answer.json()["status"] == "ok"
    else:
        assert answer.json() == body


async def test_a_port(place: Any) -> None:
    port = int(place.url.rstrip("/").rpartition(":")[2])
    answer = await place.api.get(f"/api/health/checks/port-listener/{port}")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "port": port})
    answer = await place.api.get("/api/health/checks/port-listener/1")
    assert (answer.status_code, answer.json()["missing"]) == (503, 1)
    assert port in answer.json()["ports"]


async def test_a_protocol_that_nobody_speaks(place: Any) -> None:
    answer = await place.api.get("/api/health/checks/protocol-listener/mqtt")
    assert answer.status_code == 503
    shown = answer.json()
    assert (shown["reason"], shown["missing"]) == ("No active listener", "mqtt")
    assert {"amqp", "http"} <= set(shown["protocols"])


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("port-listener/x", "Invalid port"),
        ("certificate-expiration/x/days", "Invalid expiration value."),
        ("certificate-expiration/1/parsecs",
         "Time unit not recognised. Supported units: days, weeks, months, years."),
    ],
)  # fmt: skip
async def test_wrong_questions(place: Any, path: str, reason: str) -> None:
    answer = await place.api.get(f"/api/health/checks/{path}")
    assert (answer.status_code, answer.json()["reason"]) == (400, reason)


@pytest.mark.parametrize("path", ["aliveness-test/no.such", "healthchecks/node/no.such"])
async def test_not_there(place: Any, path: str) -> None:
    assert (await place.api.get(f"/api/{path}")).status_code == 404


async def test_an_alarm(server: Server, api: httpx.AsyncClient) -> None:
    node = server.node().name
    server.broker.alarms.sound(Alarm.MEMORY)
    server.broker.alarms.sound(Alarm.DISK)
    answer = await api.get("/api/health/checks/alarms")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "failed",
        "reason": "There are alarms in effect in the cluster",
        "alarms": [
            {"node": node, "resource": "memory"},
            {"node": node, "resource": "disk space"},
        ],
    }
    answer = await api.get("/api/healthchecks/node")
    assert answer.json()["reason"] == (
        f"resource alarm(s) in effect:[{{resource_limit,memory,'{node}'}},"
        f"{{resource_limit,disk,'{node}'}}]"
    )


async def test_a_node_that_takes_clients_is_in_service(api: httpx.AsyncClient) -> None:
    answer = await api.get("/api/health/checks/is-in-service")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_a_quorum_queue_needs_its_home() -> None:
    apis = PeerApis("a", "b")
    apis.declare("b", "classic")
    path = "/api/health/checks/node-is-quorum-critical"
    assert (await apis.get("b", path)).json() == {"status": "ok"}
    vhost = apis["b"].broker.vhosts["/"]
    vhost.declare_queue("q", durable=True, arguments={"x-queue-type": "quorum"})
    answer = await apis.get("b", path)
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "failed",
        "reason": "There are quorum queues that would lose their quorum if the target node is"
        " shut down",
        "queues": [
            {
                "readable_name": "queue 'q' in vhost '/'",
                "name": "q",
                "virtual_host": "/",
                "type": "quorum",
            }
        ],
    }
    assert (await apis.get("a", path)).json() == {"status": "ok"}
    alone = PeerApis("a")
    assert (await alone.get("a", path)).json() == {"status": "ok", "reason": "single node cluster"}


async def test_aliveness_leaves_nothing_but_its_queue(
    server: Server, api: httpx.AsyncClient
) -> None:
    vhost = server.broker.vhosts["/"]
    vhost.declare_queue("q")
    for _ in range(2):
        assert (await api.get("/api/aliveness-test/%2F")).json() == {"status": "ok"}
    queue = vhost.queues["aliveness-test"]
    assert (queue.ready, queue.unacked, queue.published) == (0, 0, 2)
