"""Dead letters go back to where they died."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import httpx
import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.alarms import Alarm
from reference_broker.core.dead_letter.x_death import with_x_death
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import read_facts
from reference_broker.core.queue.death import DeathReason
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.http.objects import reprocess
from reference_broker.runtime.config import ServerConfig
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

DEAD = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
PATH = "/api/queues/%2F/dead/reprocess"


async def publish(api: httpx.AsyncClient, key: str, payload: str, exchange: str = "x") -> None:
    body = {
        "properties": {"delivery_mode": 2},
        "routing_key": key,
        "payload": payload,
        "payload_encoding": "string",
    }
    answer = await api.post(f"/api/exchanges/%2F/{exchange}/publish", json=body)
    assert answer.json() == {"routed": True}


async def get(api: httpx.AsyncClient, queue: str, ackmode: str) -> list[Any]:
    wanted = {"count": 99, "ackmode": ackmode, "encoding": "auto"}
    answer = await api.post(f"/api/queues/%2F/{queue}/get", json=wanted)
    assert answer.status_code == 200
    rows: list[Any] = answer.json()
    return rows


@pytest.fixture
async def lot(server: Server, api: httpx.AsyncClient) -> None:
    """Three messages that were rejected from ``work``, which a twin has had as well, and one that
    was published to ``dead`` itself."""
    vhost = server.broker.vhosts["/"]
    vhost.declare_exchange("x", "topic", durable=True)
    vhost.declare_queue("dead", durable=True)
    vhost.declare_queue("work", durable=True, arguments=DEAD)
    vhost.declare_queue("twin", durable=True)
    for queue in ("work", "twin"):
        vhost.bind("x", queue, "#", destination_is_queue=True)
    for number in range(3):
        await publish(api, f"k.{number}", str(number))
    await publish(api, "dead", "no dead letter", "amq.default")
    await get(api, "work", "reject_requeue_false")


async def test_back_to_the_queue_that_they_died_in(
    lot: None, server: Server, api: httpx.AsyncClient
) -> None:
    assert (await api.post(PATH, json={})).json() == {"reprocessed": 3, "skipped": 1}
    journal = server.broker.journal
    assert journal.synced == journal.tail
    rows = await get(api, "work", "ack_requeue_true")
    assert [(row["payload"], row["exchange"], row["routing_key"]) for row in rows] == [
        ("0", "x", "k.0"), ("1", "x", "k.1"), ("2", "x", "k.2"),
    ]  # fmt: skip
    assert rows[0]["properties"]["headers"]["x-first-death-queue"] == "work"
    assert [row["payload"] for row in await get(api, "dead", "ack_requeue_true")] == [
        "no dead letter"
    ]
    assert server.broker.vhosts["/"].queues["twin"].ready == 3


async def test_they_are_there_after_a_restart(
    lot: None, server: Server, api: httpx.AsyncClient
) -> None:
    await api.post(PATH, json={})
    await server.stop()
    again = Server(
        ServerConfig(amqp=server.config.amqp, http=None, data_dir=server.config.data_dir)
    )
    await again.start()
    try:
        queues = again.broker.vhosts["/"].queues
        assert {name: queues[name].ready for name in queues} == {"work": 3, "twin": 3, "dead": 1}
    finally:
        await again.stop()


async def test_so_many_and_no_more(
    lot: None, server: Server, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await api.post(PATH, json={"count": 2})).json() == {"reprocessed": 1, "skipped": 1}
    monkeypatch.setattr(reprocess, "REPROCESS_MAX", 2)
    monkeypatch.setattr(reprocess, "SLICE_MESSAGES", 1)
    assert (await api.post(PATH, json={"count": 99})).json() == {"reprocessed": 1, "skipped": 1}
    assert (await api.post(PATH, json={"count": 0})).json() == {"reprocessed": 0, "skipped": 0}


async def test_through_the_exchange_where_the_queue_is_gone(
    lot: None, server: Server, api: httpx.AsyncClient
) -> None:
    vhost = server.broker.vhosts["/"]
    vhost.delete_queue("work")
    assert (await api.post(PATH, json={})).json() == {"reprocessed": 3, "skipped": 1}
    assert vhost.queues["twin"].ready == 6


async def test_what_an_exchange_has_seen_passes(
    lot: None, server: Server, api: httpx.AsyncClient
) -> None:
    vhost = server.broker.vhosts["/"]
    vhost.delete_queue("work")
    vhost.delete_exchange("x")
    vhost.declare_exchange("x", "topic", durable=True, arguments={"x-message-id-window": 9})
    vhost.declare_queue("again", arguments={"x-message-id-window": 9})
    vhost.bind("x", "again", "#", destination_is_queue=True)
    header = encode_header(1, Properties(message_id="a"))
    for _ in range(2):
        letter = with_x_death(
            header,
            queue="work",
            reason=DeathReason.EXPIRED,
            wall_ms=0,
            exchange=b"x",
            routing_key=b"k",
            keep_cc=True,
        )
        content = Content(b"\x00\x04dead", letter, b"x")
        assert enqueue([vhost.queues["dead"]], content, read_facts(letter), vhost)
    assert (await api.post(PATH, json={})).json() == {"reprocessed": 5, "skipped": 1}
    assert vhost.queues["again"].ready == 5


async def test_where_nobody_takes_them_they_stay(
    lot: None, server: Server, api: httpx.AsyncClient
) -> None:
    vhost = server.broker.vhosts["/"]
    vhost.delete_queue("work")
    full = {"x-max-length": 0, "x-overflow": "reject-publish"}
    vhost.declare_queue("work", arguments=full)
    assert (await api.post(PATH, json={})).json() == {"reprocessed": 0, "skipped": 4}
    vhost.delete_queue("work")
    vhost.delete_exchange("x")
    assert (await api.post(PATH, json={})).json() == {"reprocessed": 0, "skipped": 4}
    rows = await get(api, "dead", "ack_requeue_true")
    assert [row["payload"] for row in rows] == ["no dead letter", "0", "1", "2"]


async def test_many_take_many_turns(
    server: Server, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them goes to thirty queues, and a hundred stay where they are, in order."""
    vhost, budget = server.broker.vhosts["/"], server.broker.budget
    dead = vhost.declare_queue("dead", durable=True)
    vhost.declare_exchange("x", "fanout")
    for number in range(30):
        vhost.declare_queue(f"q{number}", durable=True)
        vhost.bind("x", f"q{number}", "", destination_is_queue=True)
    plain = encode_header(1, Properties())
    letter = with_x_death(
        plain,
        queue="gone",
        reason=DeathReason.EXPIRED,
        wall_ms=0,
        exchange=b"x",
        routing_key=b"k",
        keep_cc=True,
    )
    for number in range(100):
        content = Content(b"\x00\x04dead", plain, b"%02d" % number)
        assert enqueue([dead], content, read_facts(plain), vhost)
        if number % 25 == 0:
            content = Content(b"\x00\x04dead", letter, b"x")
            assert enqueue([dead], content, read_facts(letter), vhost)
    budget.units = 20
    budget.refill()  # after a slow turn there may be less than what was made ready above
    spent, returned, finish = [0], [0], server.broker.finish

    def counted() -> None:
        spent.append(-budget.left)
        returned.append(dead.requeued)
        finish()

    monkeypatch.setattr(server.broker, "finish", counted)
    assert (await api.post(PATH, json={})).json() == {"reprocessed": 4, "skipped": 100}
    assert max(spent) < 30, "a turn's units, and a letter"
    assert max(after - before for before, after in pairwise(returned)) <= 30
    assert {vhost.queues[f"q{number}"].ready for number in range(30)} == {4}
    monkeypatch.undo()
    rows = await get(api, "dead", "ack_requeue_true")
    assert [row["payload"] for row in rows] == [f"{number:02}" for number in range(99)]


@pytest.mark.parametrize("count", ["1", -1, True, None])
async def test_a_count_that_is_none(api: httpx.AsyncClient, count: Any) -> None:
    answer = await api.post(PATH, json={"count": count})
    assert answer.json() == {"error": "bad_request", "reason": ["not_integer", count]}


async def test_a_queue_that_is_not_there(api: httpx.AsyncClient) -> None:
    assert (await api.post(PATH, json={})).status_code == 404


async def test_refused_while_an_alarm_is_on(
    lot: None, server: Server, api: httpx.AsyncClient
) -> None:
    server.broker.alarms.sound(Alarm.DISK)
    answer = await api.post(PATH, json={})
    assert (answer.status_code, answer.json()["error"]) == (503, "resource_alarm")
    assert server.broker.vhosts["/"].queues["dead"].ready == 4


async def test_headers_that_somebody_made_up_lead_nowhere_that_he_may_not_write_to(
    lot: None, server: Server, api: httpx.AsyncClient
) -> None:
    """The queue is gone, so the exchange counts: an internal one is nobody's to publish to."""
    vhost = server.broker.vhosts["/"]
    vhost.declare_exchange("inner", "fanout", internal=True)
    vhost.bind("inner", "twin", "", destination_is_queue=True)
    death = {"queue": "gone", "exchange": "inner", "routing-keys": ["k"]}
    body = {
        "properties": {"headers": {"x-death": [death]}},
        "routing_key": "dead",
        "payload": "",
        "payload_encoding": "string",
    }
    await api.post("/api/exchanges/%2F/amq.default/publish", json=body)
    assert (await api.post(PATH, json={})).json() == {"reprocessed": 3, "skipped": 2}
    assert vhost.queues["twin"].ready == 3
