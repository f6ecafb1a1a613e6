"""Reading messages out of a queue, and purging it: alike by both brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import aio_pika
import httpx
import pytest
from starlette.requests import Request

from mqkit.wire import Properties, encode_header
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import read_facts
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.queue.queue import Queue
from reference_broker.http.objects import queues
from reference_broker.http.request.turn_share import next_turn
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

BODIES = [b"hello", b"\xff\x00", b"world"]


@pytest.fixture
async def queue(place: Any, unique: Callable[[str], str]) -> AsyncIterator[str]:
    """Three messages; rejected ones go to a second queue, ``NAME.dead``."""
    name = unique("q")
    async with await aio_pika.connect(place.url) as connection:
        channel = await connection.channel()
        dead = await channel.declare_queue(f"{name}.dead", durable=True)
        declared = await channel.declare_queue(
            name,
            durable=True,
            arguments={
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": dead.name,
            },
        )
        for body in BODIES:
            await channel.default_exchange.publish(
                aio_pika.Message(
                    body, delivery_mode=2, priority=1, message_id="m", headers={"n": [1, "x"]}
                ),
                name,
            )
        yield name
        await declared.delete(if_unused=False, if_empty=False)
        await dead.delete(if_unused=False, if_empty=False)


async def get(place: Any, queue: str, **wanted: Any) -> Any:
    body = {"count": 9, "ackmode": "ack_requeue_true", "encoding": "auto", **wanted}
    answer: httpx.Response = await place.api.post(f"/api/queues/%2F/{queue}/get", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_what_a_message_looks_like(place: Any, queue: str) -> None:
    first, second, third = await get(place, queue)
    assert first == {
        "payload_bytes": 5,
        "redelivered": False,
        "exchange": "",
        "routing_key": queue,
        "message_count": 2,
        "properties": {
            "message_id": "m",
            "delivery_mode": 2,
            "priority": 1,
            "headers": {"n": [1, "x"]},
        },
        "payload": "hello",
        "payload_encoding": "string",
    }
    assert (second["payload"], second["payload_encoding"]) == ("/wA=", "base64")
    assert (third["message_count"], third["payload_bytes"]) == (0, 5)


@pytest.mark.parametrize(
    ("ackmode", "left", "dead"),
    [
        ("ack_requeue_true", 3, 0),
        ("reject_requeue_true", 3, 0),
        ("ack_requeue_false", 1, 0),
        ("reject_requeue_false", 1, 2),
    ],
)
async def test_what_becomes_of_them(
    place: Any, queue: str, ackmode: str, left: int, dead: int
) -> None:
    assert len(await get(place, queue, count=2, ackmode=ackmode)) == 2
    again = await get(place, queue)
    assert len(again) == left
    if left == len(BODIES):
        assert [row["redelivered"] for row in again] == [True, True, False]
        assert [row["payload_bytes"] for row in again] == [len(body) for body in BODIES]
    assert len(await get(place, f"{queue}.dead")) == dead


async def test_encoding_and_truncation(place: Any, queue: str) -> None:
    (row,) = await get(place, queue, count="1", encoding="base64")
    assert (row["payload"], row["payload_encoding"]) == ("aGVsbG8=", "base64")
    (row,) = await get(place, queue, count=1, truncate=2)
    assert (row["payload"], row["payload_bytes"]) == ("he", 5)


async def test_counts(place: Any, queue: str) -> None:
    assert await get(place, queue, count=0) == []
    assert len(await get(place, queue, count=-1)) == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"count": "x"}, ["not_integer", "x"]),
        ({"truncate": "x"}, ["not_integer", "x"]),
        ({"encoding": "rot13"}, "Unsupported encoding. Please use auto or base64."),
    ],
)
async def test_wrong_wishes(place: Any, queue: str, change: Any, reason: Any) -> None:
    body = {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto", **change}
    answer = await place.api.post(f"/api/queues/%2F/{queue}/get", json=body)
    assert answer.status_code == 400
    assert answer.json() == {"error": "bad_request", "reason": reason}


async def test_purge(place: Any, queue: str) -> None:
    answer = await place.api.delete(f"/api/queues/%2F/{queue}/contents")
    assert (answer.status_code, answer.content) == (204, b"")
    assert await get(place, queue) == []


async def test_a_queue_of_another_connection(place: Any, unique: Callable[[str], str]) -> None:
    name = unique("mine")
    async with await aio_pika.connect(place.url) as connection:
        channel = await connection.channel()
        await channel.declare_queue(name, exclusive=True)
        answer = await place.api.delete(f"/api/queues/%2F/{name}/contents")
        assert answer.status_code == 400
        reason = answer.json()["reason"]
        assert f"cannot obtain exclusive access to locked queue '{name}' in vhost '/'" in reason


async def test_an_unknown_ackmode(api: httpx.AsyncClient, server: Server) -> None:
    """RabbitMQ answers 500 to this one."""
    server.broker.vhosts["/"].declare_queue("q")
    wanted = {"count": 1, "ackmode": "eat", "encoding": "auto"}
    answer = await api.post("/api/queues/%2F/q/get", json=wanted)
    assert answer.status_code == 400
    assert "ack_requeue_true" in answer.json()["reason"]


@pytest.mark.parametrize(("bound", "limit"), [("GET_MESSAGES_MAX", 2), ("GET_BYTES_MAX", 30)])
async def test_one_request_gets_so_much_and_no_more(
    api: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch, bound: str, limit: int
) -> None:
    monkeypatch.setattr(queues, bound, limit)
    server.broker.vhosts["/"].declare_queue("q")
    message = {"properties": {}, "routing_key": "q", "payload": "x", "payload_encoding": "string"}
    for _ in range(5):
        await api.post("/api/exchanges/%2F/amq.default/publish", json=message)
    wanted = {"count": 5, "ackmode": "ack_requeue_false", "encoding": "auto"}
    for got in (2, 2, 1):
        answer = await api.post("/api/queues/%2F/q/get", json=wanted)
        assert len(answer.json()) == got


@pytest.mark.parametrize(
    ("mode", "left"),
    [("ack_requeue_true", 7), ("ack_requeue_false", 0), ("reject_requeue_false", 0)],
)
async def test_many_messages_are_taken_and_settled_in_portions(
    api: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch, mode: str, left: int
) -> None:
    monkeypatch.setattr(queues, "INPUT_MESSAGES", 2)
    queue = server.broker.vhosts["/"].declare_queue("q")
    message = {"properties": {}, "routing_key": "q", "payload_encoding": "string"}
    for number in range(7):
        await api.post(
            "/api/exchanges/%2F/amq.default/publish", json={**message, "payload": str(number)}
        )
    changes: list[int] = []
    finish, known = server.broker.finish, [queue.ready, queue.unacked]

    def counted() -> None:
        finish()
        changes.append(abs(queue.unacked - known[1]))
        known[1] = queue.unacked

    monkeypatch.setattr(server.broker, "finish", counted)
    wanted = {"count": 9, "ackmode": mode, "encoding": "auto"}
    rows = (await api.post("/api/queues/%2F/q/get", json=wanted)).json()
    assert [(row["payload"], row["message_count"]) for row in rows] == [
        (str(number), 6 - number) for number in range(7)
    ]
    assert (queue.ready, queue.unacked) == (left, 0)
    assert max(changes[:3]) <= 2
    if left:  # at their places, as they were
        rows = (await api.post("/api/queues/%2F/q/get", json=wanted)).json()
        assert [row["payload"] for row in rows] == [str(number) for number in range(7)]


async def test_a_queue_that_is_deleted_between_two_portions(
    api: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "INPUT_MESSAGES", 2)
    vhost = server.broker.vhosts["/"]
    queue = vhost.declare_queue("q")
    message = {"properties": {}, "routing_key": "q", "payload": "x", "payload_encoding": "string"}
    for _ in range(5):
        await api.post("/api/exchanges/%2F/amq.default/publish", json=message)
    finish = server.broker.finish

    def deleting() -> None:
        if queue.unacked == 4 and not queue.deleted:
            vhost.delete_queue("q")
        finish()

    monkeypatch.setattr(server.broker, "finish", deleting)
    wanted = {"count": 9, "ackmode": "ack_requeue_false", "encoding": "auto"}
    answer = await api.post("/api/queues/%2F/q/get", json=wanted)
    assert (answer.status_code, len(answer.json())) == (200, 4)


@pytest.mark.parametrize("mode", ["ack_requeue_true", "ack_requeue_false", "reject_requeue_false"])
async def test_settling_many_takes_many_turns(
    api: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """And what comes back comes back as a whole: else 200 would be handed out before 0."""
    vhost, budget = server.broker.vhosts["/"], server.broker.budget
    vhost.declare_exchange("dead", "fanout")
    for number in range(20):
        vhost.declare_queue(f"dead{number}")
        vhost.bind("dead", f"dead{number}", "", destination_is_queue=True)
    queue = vhost.declare_queue("q", arguments={"x-dead-letter-exchange": "dead"})
    for number in range(300):
        put(queue, b"%d" % number)
    budget.units = 50
    budget.refill()  # after a slow turn there may be less than what was made ready above
    seen: list[tuple[int, int]] = []
    spent = [0]
    finish = server.broker.finish

    def counted() -> None:
        seen.append((queue.unacked, queue.returning))
        spent.append(-budget.left)
        finish()

    monkeypatch.setattr(server.broker, "finish", counted)
    wanted = {"count": 300, "ackmode": mode, "encoding": "auto"}
    rows = (await api.post("/api/queues/%2F/q/get", json=wanted)).json()

    assert [row["payload"] for row in rows] == [str(number) for number in range(300)]
    held = [unacked for unacked, _ in seen[[unacked for unacked, _ in seen].index(300) :]]
    assert max(before - after for before, after in pairwise(held)) <= 60
    assert max(spent) < 60, "a turn's units, and a letter"
    if mode == "ack_requeue_true":
        back = seen[-len(held) :]
        assert all(returning for unacked, returning in back if 0 < unacked < 300)
        again = (await api.post("/api/queues/%2F/q/get", json=wanted)).json()
        assert [row["payload"] for row in again] == [str(number) for number in range(300)]
    else:
        assert (queue.ready, queue.unacked) == (0, 0)
    if mode == "reject_requeue_false":
        assert {vhost.queues[f"dead{number}"].ready for number in range(20)} == {300}


def put(queue: Queue, body: bytes) -> None:
    header = encode_header(len(body), Properties())
    content = Content(b"\x00\x01q", header, body)
    enqueue((queue,), content, read_facts(header), queue.env)


@pytest.mark.parametrize(
    ("wish", "places"), [({}, 3), ({"truncate": 10}, 0), ({"truncate": 200_000}, 2)]
)
async def test_a_large_message_is_shown_in_portions(
    api: httpx.AsyncClient,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    wish: dict[str, int],
    places: int,
) -> None:
    taken = 0

    async def counted(request: Request) -> None:
        nonlocal taken
        taken += 1
        await next_turn(request)

    monkeypatch.setattr(queues, "next_turn", counted)
    monkeypatch.setattr(queues, "LONG_BYTES", 100_000)
    put(server.broker.vhosts["/"].declare_queue("q"), b"x" * 500_000)
    wanted = {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto", **wish}
    (row,) = (await api.post("/api/queues/%2F/q/get", json=wanted)).json()
    assert row["payload"] == "x" * wish.get("truncate", 500_000)
    assert taken == places
