"""``message_stats`` and rates, as both brokers show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aio_pika
import httpx
import pytest
from starlette.datastructures import QueryParams

from reference_broker.http.request.answer import ApiError
from reference_broker.http.rows.series import BASIC, STEP_MS, Series
from reference_broker.http.rows.statistics import Span, details
from reference_broker.runtime.server import Server

T = 1_700_000_040_000


def test_details_with_a_history() -> None:
    series = Series(BASIC)
    for number, value in enumerate((10, 20, 60)):
        series.add(T + number * STEP_MS, (value,))
    assert details(series, 0, None) == {"rate": 8.0}
    assert details(series, 0, Span(10, 5)) == {
        "rate": 8.0,
        "samples": [
            {"sample": 60, "timestamp": T + 10_000},
            {"sample": 20, "timestamp": T + 5_000},
            {"sample": 10, "timestamp": T},
        ],
        "avg_rate": 5.0,
        "avg": 30.0,
    }
    assert details(None, 0, Span(10, 5)) == {"rate": 0.0}


@pytest.mark.parametrize("query", ["x_age=60", "x_incr=5", "x_age=a&x_incr=5", ""])
def test_half_a_span_is_none(query: str) -> None:
    assert Span.parse(QueryParams(query), "x") is None


@pytest.mark.parametrize(("age", "incr"), [(0, 5), (60, 0), (-1, 5), (2_505, 5)])
def test_a_span_that_can_not_be(age: int, incr: int) -> None:
    with pytest.raises(ApiError) as refused:
        Span.parse(QueryParams(f"x_age={age}&x_incr={incr}"), "x")
    assert refused.value.reason == f"Invalid range parameters: age {age}, incr {incr}"


@pytest.mark.anyio
async def test_counters_of_a_queue(
    place: Any, eventually: Any, unique: Callable[[str], str]
) -> None:
    """Five published, two of them delivered and one of those acked; two got, and none the third
    time."""
    name = unique("q")
    async with await aio_pika.connect(place.url) as connection:
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=2)
        queue = await channel.declare_queue(name)
        for _ in range(5):
            await channel.default_exchange.publish(aio_pika.Message(b"x"), name)
        async with queue.iterator() as messages:
            first = await anext(messages)
            await anext(messages)
            await first.ack()
            third = await anext(messages)
            assert not third.redelivered
            for no_ack in (True, False):
                assert await queue.get(no_ack=no_ack) is not None
            assert await queue.get(fail=False) is None

            async def fetch() -> Any:
                return (await place.api.get(f"/api/queues/%2F/{name}")).json()

            wanted = {
                "publish": 5, "ack": 1, "deliver": 3, "deliver_no_ack": 0, "get": 1,
                "get_no_ack": 1, "get_empty": 1, "deliver_get": 5, "redeliver": 0,
            }  # fmt: skip

            def right(row: Any) -> bool:
                stats = row.get("message_stats", {})
                return {
                    key: stats.get(key) for key in wanted
                } == wanted and "messages_details" in row

            row = await eventually(fetch, right)
            assert all(
                isinstance(row["message_stats"][f"{key}_details"]["rate"], float) for key in wanted
            )
            assert set(row["messages_details"]) == {"rate"}


@pytest.mark.anyio
async def test_counters_of_an_exchange_and_a_channel(
    place: Any, eventually: Any, unique: Callable[[str], str]
) -> None:
    name = unique("x")
    async with await aio_pika.connect(place.url) as connection:
        channel = await connection.channel(on_return_raises=False)
        exchange = await channel.declare_exchange(name, "headers", auto_delete=True)
        queues = [await channel.declare_queue(exclusive=True) for _ in range(2)]
        for queue in queues:
            await queue.bind(exchange, arguments={"x-match": "any", "a": 1})
        other = await channel.declare_exchange(f"{name}.d", "direct", auto_delete=True)
        await queues[0].bind(other, "k")
        for value in (1, 1, 2):
            await exchange.publish(
                aio_pika.Message(b"x", headers={"a": value}), "", mandatory=False
            )
        await exchange.publish(aio_pika.Message(b"x"), "", mandatory=True)
        await other.publish(aio_pika.Message(b"x"), "k")

        async def fetch() -> Any:
            return [
                (await place.api.get(f"/api/exchanges/%2F/{each}")).json().get("message_stats", {})
                for each in (name, f"{name}.d")
            ]

        def right(rows: Any) -> bool:
            return [(row.get("publish_in"), row.get("publish_out")) for row in rows] == [
                (4, 4),
                (1, 1),
            ]

        await eventually(fetch, right)

        async def fetch_channel() -> Any:
            rows = (await place.api.get("/api/channels")).json()
            counted = [row["message_stats"] for row in rows if row.get("message_stats")]
            return [
                tuple(
                    row.get(key)
                    for key in ("publish", "confirm", "return_unroutable", "drop_unroutable")
                )
                for row in counted
            ]

        await eventually(fetch_channel, lambda rows: (5, 5, 1, 1) in rows)


@pytest.mark.anyio
async def test_sums_only_rise(server: Server, api: httpx.AsyncClient) -> None:
    """Messages that went through channels, queues and connections that are gone stay counted."""
    url = f"amqp://guest:guest@127.0.0.1:{server.amqp_port}/"
    for _ in range(2):
        async with await aio_pika.connect(url) as connection:
            channel = await connection.channel()
            queue = await channel.declare_queue("q", auto_delete=True)
            for _ in range(3):
                await channel.default_exchange.publish(aio_pika.Message(b"x"), "q")
            assert await queue.get(no_ack=True) is not None
            await queue.delete(if_unused=False, if_empty=False)
    overview = (await api.get("/api/overview")).json()
    stats = overview["message_stats"]
    assert (stats["publish"], stats["confirm"], stats["get_no_ack"]) == (6, 6, 2)
    churn = overview["churn_rates"]
    assert {name: churn[name] for name in churn if not name.endswith("_details")} == {
        "connection_created": 2, "connection_closed": 2, "channel_created": 2,
        "channel_closed": 2, "queue_declared": 2, "queue_created": 2, "queue_deleted": 2,
    }  # fmt: skip
    vhost = (await api.get("/api/vhosts/%2F")).json()
    assert vhost["message_stats"]["publish"] == 6
    assert vhost["recv_oct"] > 0 < vhost["send_oct"]


@pytest.mark.anyio
async def test_nothing_has_no_message_stats(api: httpx.AsyncClient) -> None:
    await api.put("/api/queues/%2F/q", json={})
    for path in ("overview", "queues/%2F/q", "exchanges/%2F/amq.topic", "vhosts/%2F"):
        assert "message_stats" not in (await api.get(f"/api/{path}")).json()


@pytest.mark.anyio
async def test_disabled(place: Any, unique: Callable[[str], str]) -> None:
    name = unique("q")
    await place.api.put(f"/api/queues/%2F/{name}", json={})
    plain = {
        "name", "vhost", "type", "durable", "auto_delete", "exclusive", "arguments", "node",
        "state",
    }  # fmt: skip
    row = (await place.api.get(f"/api/queues/%2F/{name}?disable_stats=true")).json()
    assert (set(row), row["state"]) == (plain, "live")
    rows = (await place.api.get("/api/queues?disable_stats=true&enable_queue_totals=true")).json()
    (row,) = [row for row in rows if row["name"] == name]
    totals = {"messages", "messages_ready", "messages_unacknowledged"}
    assert (set(row), row["state"]) == (plain | totals, "running")
    policy = {"pattern": f"^{name}$", "definition": {"max-length": 5}, "apply-to": "queues"}
    await place.api.put(f"/api/policies/%2F/{name}", json=policy)
    rows = (await place.api.get("/api/queues?disable_stats=true")).json()
    assert [row["policy"] for row in rows if row["name"] == name] == [name]
    await place.api.delete(f"/api/policies/%2F/{name}")
    await place.api.delete(f"/api/queues/%2F/{name}")
    overview = (await place.api.get("/api/overview?disable_stats=true")).json()
    assert overview["disable_stats"] is True
    assert set(overview["object_totals"]) == {"queues", "exchanges", "connections"}
