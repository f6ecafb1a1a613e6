"""Requests about the messages of a queue that has its home on another node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from mqkit.wire import Properties
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.message.content import Content
from reference_broker.core.remote.ports import Answer, Counts, Got, Purged, Settlement
from reference_broker.errors import ChannelException, ReplyCode
from reference_broker.http.objects import queue_move
from reference_broker.http.objects.health import ALIVENESS_QUEUE
from reference_broker.http.rows.message import header_of
from reference_broker.testing.apis.asgi_client import AsgiAnswer
from reference_broker.testing.apis.peer_apis import PeerApis
from reference_broker.testing.homes.scripted_home import ScriptedHome

pytestmark = pytest.mark.anyio

QUEUE = "/api/queues/%2F/q"
DOWN = "NOT_FOUND - home node 'mqkit@b' of durable queue 'q' in vhost '/' is down or inaccessible"


@pytest.fixture
def apis() -> PeerApis:
    """``q`` is a queue of ``b``."""
    apis = PeerApis("a", "b")
    apis.declare("b", "q")
    return apis


@pytest.fixture
def home(apis: PeerApis) -> ScriptedHome:
    """The home of ``q``, as ``a`` asks it."""
    return apis["a"].homes["b"]


def _queue_id(apis: PeerApis) -> int:
    return apis["a"].broker.vhosts["/"].queues["q"].id


def _content(body: bytes) -> Content:
    return Content(b"\x00\x01q", header_of(Properties(), body), body)


async def _answered(
    apis: PeerApis, home: ScriptedHome, method: str, path: str, *answers: Answer, **more: Any
) -> AsgiAnswer:
    """The answer of ``a`` to a request for which the home is asked as many questions."""
    asking = asyncio.create_task(apis.request("a", method, path, **more))
    left = list(answers)
    while not asking.done():
        await asyncio.sleep(0)
        if left and any(each[0] in ("get", "count", "purge") for each in home.asked):
            answer = left.pop(0)
            done.extend(home.take_asked())
            apis["a"].lone.take(partial(home.answer, answer))
    done.extend(home.take_asked())
    assert not left
    return await asking


async def _until(happened: Callable[[], bool]) -> None:
    while not happened():  # noqa: ASYNC110 - nobody tells it
        await asyncio.sleep(0)


done: list[tuple[Any, ...]] = []


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    done.clear()


@pytest.mark.parametrize(
    ("mode", "how"),
    [
        ("ack_requeue_false", Settlement.ACK),
        ("ack_requeue_true", Settlement.REQUEUE_FAILED),
        ("reject_requeue_true", Settlement.REQUEUE_FAILED),
        ("reject_requeue_false", Settlement.REJECT),
    ],
)
async def test_get_takes_messages_one_by_one_and_settles_them(
    apis: PeerApis, home: ScriptedHome, mode: str, how: Settlement
) -> None:
    body = {"count": 5, "ackmode": mode, "encoding": "auto"}
    answer = await _answered(
        apis,
        home,
        "POST",
        QUEUE + "/get",
        Got(3, False, _content(b"one"), 1),
        Got(4, True, _content(b"two"), 0),
        Got(0, False, None, 0),
        json=body,
    )
    rows = [
        (row["payload"], row["redelivered"], row["message_count"], row["routing_key"])
        for row in answer.json()
    ]
    assert rows == [("one", False, 1, "q"), ("two", True, 0, "q")]
    number = _queue_id(apis)
    assert [each for each in done if each[0] == "get"] == [("get", number, False)] * 3
    assert [each for each in done if each[0] == "settle"] == [("settle", number, how, (3, 4))]
    assert apis["a"].broker.vhosts["/"].queues["q"].unacked == 0


async def test_get_asks_for_no_more_than_is_wanted(apis: PeerApis, home: ScriptedHome) -> None:
    body = {"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"}
    got = Got(3, False, _content(b"one"), 7)
    answer = await _answered(apis, home, "POST", QUEUE + "/get", got, json=body)
    assert [row["message_count"] for row in answer.json()] == [7]
    assert [each[0] for each in done] == ["get", "settle"]


async def test_what_a_client_that_has_gone_wanted_goes_back_unseen(
    apis: PeerApis, home: ScriptedHome
) -> None:
    body = {"count": 5, "ackmode": "ack_requeue_false", "encoding": "auto"}
    asking = asyncio.create_task(apis.request("a", "POST", QUEUE + "/get", json=body))
    for number in (3, 4):
        await _until(lambda: bool(home.asked))
        assert home.take_asked() == [("get", _queue_id(apis), False)]
        if number == 4:
            asking.cancel()
            await asyncio.wait([asking])
            await asyncio.sleep(0)
        got = Got(number, False, _content(b"x"), 1)
        apis["a"].lone.take(partial(home.answer, got))
    assert home.take_asked() == [("settle", _queue_id(apis), Settlement.UNSEEN, (3, 4))]


async def test_get_while_the_home_is_down(apis: PeerApis, home: ScriptedHome) -> None:
    home.lose()
    body = {"count": 5, "ackmode": "ack_requeue_false", "encoding": "auto"}
    answer = await apis.request("a", "POST", QUEUE + "/get", json=body)
    assert answer.status_code == 404
    assert answer.json() == {"error": "not_found", "reason": DOWN}


async def test_a_get_that_loses_its_home_half_way(apis: PeerApis, home: ScriptedHome) -> None:
    gone = ChannelException(ReplyCode.NOT_FOUND, "it is gone")
    body = {"count": 5, "ackmode": "ack_requeue_false", "encoding": "auto"}
    got = Got(3, False, _content(b"one"), 1)
    answer = await _answered(apis, home, "POST", QUEUE + "/get", got, gone, json=body)
    assert (answer.status_code, answer.json()["reason"]) == (404, "NOT_FOUND - it is gone")
    assert apis["a"].broker.vhosts["/"].queues["q"].unacked == 0


async def test_purge(apis: PeerApis, home: ScriptedHome) -> None:
    answer = await _answered(apis, home, "DELETE", QUEUE + "/contents", Purged(3))
    assert (answer.status_code, answer.content) == (204, b"")
    assert done == [("purge", _queue_id(apis))]
    home.lose()
    answer = await apis.request("a", "DELETE", QUEUE + "/contents")
    assert (answer.status_code, answer.json()["reason"]) == (404, DOWN.removeprefix("NOT_FOUND - "))


@pytest.mark.parametrize(
    ("condition", "counts", "status"),
    [
        ("if-empty", Counts(1, 0, 0, 0), 400),
        ("if-empty", Counts(0, 2, 1, 1), 204),
        ("if-unused", Counts(0, 0, 1, 1), 400),
        ("if-unused", Counts(1, 0, 0, 0), 204),
    ],
)
async def test_a_deletion_with_conditions_asks_for_the_counts_of_the_home(
    apis: PeerApis, home: ScriptedHome, condition: str, counts: Counts, status: int
) -> None:
    number = _queue_id(apis)
    answer = await _answered(apis, home, "DELETE", f"{QUEUE}?{condition}=true", counts)
    assert answer.status_code == status
    assert done == [("count", number)]
    assert ("q" in apis["a"].broker.vhosts["/"].queues) == (status == 400)


async def test_a_deletion_with_conditions_while_the_home_is_down(
    apis: PeerApis, home: ScriptedHome
) -> None:
    home.lose()
    answer = await apis.request("a", "DELETE", QUEUE + "?if-empty=true")
    assert answer.status_code == 404
    assert "q" in apis["a"].broker.vhosts["/"].queues
    assert (await apis.request("a", "DELETE", QUEUE)).status_code == 204


async def _moving_to_q(apis: PeerApis, count: int) -> asyncio.Task[AsgiAnswer]:
    """A request at ``a``, which has such messages in ``here``, that has sent what it may."""
    client = apis["a"].lone.client()
    apis.declare("a", "here")
    for number in range(count):
        client.publish("here", b"%d" % number)
    path = "/api/queues/%2F/here/move"
    asking = asyncio.create_task(apis.request("a", "POST", path, json={"destination": "q"}))
    for _ in range(50):
        await asyncio.sleep(0)
    return asking


async def test_messages_are_moved_to_a_queue_of_another_node(
    apis: PeerApis, home: ScriptedHome
) -> None:
    asking = await _moving_to_q(apis, 3)
    assert [(it.queue_ids, it.content.body) for it in home.published] == [
        ((_queue_id(apis),), b"%d" % number) for number in range(3)
    ]
    assert not asking.done()
    apis["a"].lone.take(home.confirm)
    assert (await asking).json() == {"moved": 3, "messages_ready": 0, "stopped": "count"}


async def test_a_move_whose_destination_is_lost_meanwhile(
    apis: PeerApis, home: ScriptedHome
) -> None:
    asking = await _moving_to_q(apis, 3)
    apis["a"].lone.take(partial(home.confirm, 1))
    apis["a"].lone.take(home.lose)
    answer = (await asking).json()
    assert answer == {"moved": 1, "messages_ready": 2, "stopped": "destination_down"}
    path = "/api/queues/%2F/here/move"
    again = await apis.request("a", "POST", path, json={"destination": "q"})
    assert again.json() == {"moved": 0, "messages_ready": 2, "stopped": "destination_down"}


async def test_a_move_whose_destination_is_full(apis: PeerApis, home: ScriptedHome) -> None:
    asking = await _moving_to_q(apis, 2)
    apis["a"].lone.take(partial(home.confirm, 1))
    apis["a"].lone.take(partial(home.refuse, 2))
    apis["a"].lone.take(home.confirm)
    answer = (await asking).json()
    assert answer == {"moved": 1, "messages_ready": 1, "stopped": "destination_full"}


async def test_what_a_client_that_has_gone_moved_is_settled(
    apis: PeerApis, home: ScriptedHome
) -> None:
    asking = await _moving_to_q(apis, 60)
    sent = len(home.published)
    assert sent < 60
    asking.cancel()
    await asyncio.wait([asking])
    for _ in range(5):
        await asyncio.sleep(0)
    apis["a"].lone.take(home.confirm)
    here = apis["a"].broker.vhosts["/"].queues["here"]
    assert (len(home.published), here.ready, here.unacked) == (sent, 60 - sent, 0)


async def test_a_destination_elsewhere_that_does_not_answer(
    apis: PeerApis, home: ScriptedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_move, "DISK_TIMEOUT_S", 0.01)
    answer = await (await _moving_to_q(apis, 2))
    assert answer.status_code == 503
    assert answer.json()["reason"] == (
        "node mqkit@b has not answered for 0.01 s; 0 messages were moved, and those on their way"
        " may be"
    )
    apis["a"].lone.take(home.confirm)
    here = apis["a"].broker.vhosts["/"].queues["here"]
    assert (here.ready, here.unacked) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"x-max-length-bytes": 5}, "drops messages where there are too many bytes"),
        ({"x-message-id-window": 5}, "drops messages that it has seen"),
    ],
)
async def test_a_queue_elsewhere_that_might_drop_what_is_moved(
    apis: PeerApis, home: ScriptedHome, arguments: dict[str, Any], reason: str
) -> None:
    definition = QueueDefinition(77, "drops", False, arguments)
    apis["a"].broker.vhosts["/"].enter_queue(definition, home)
    apis.declare("a", "here")
    path = "/api/queues/%2F/here/move"
    answer = await apis.request("a", "POST", path, json={"destination": "drops"})
    assert answer.status_code == 400
    assert answer.json()["reason"] == (
        f"queue 'drops' in vhost '/' at node mqkit@b {reason}: move them at that node, from a"
        " queue of its own"
    )


async def test_messages_are_moved_at_any_node(apis: PeerApis) -> None:
    apis.declare("b", "other")
    client = apis["b"].lone.client()
    for _ in range(5):
        client.publish("q", b"x")
    path = QUEUE + "/move"
    some = await apis.request("a", "POST", path, json={"destination": "other", "count": 2})
    assert some.json() == {"moved": 2, "messages_ready": 3, "stopped": "count"}
    rest = await apis.request("a", "POST", path, json={"destination": "other"})
    assert rest.json() == {"moved": 3, "messages_ready": 0, "stopped": "count"}
    assert apis["b"].broker.vhosts["/"].queues["other"].ready == 5
    wrong = await apis.request("a", "POST", path, json={"destination": "other", "count": 0})
    assert (wrong.status_code, wrong.json()["reason"]) == (400, ["not_positive_integer", "count"])


async def test_dead_letters_are_reprocessed_at_any_node(apis: PeerApis) -> None:
    client = apis["b"].lone.client()
    client.publish("q", b"no dead letter")
    answer = await apis.request("a", "POST", QUEUE + "/reprocess", json={"count": 3})
    assert (answer.status_code, answer.json()) == (200, {"reprocessed": 0, "skipped": 1})


@pytest.mark.parametrize(
    ("path", "body"), [("/move", {"destination": "other"}), ("/reprocess", {})]
)
async def test_a_home_that_is_down_or_silent_moves_nothing_that_is_known(
    apis: PeerApis, home: ScriptedHome, path: str, body: dict[str, Any]
) -> None:
    apis.declare("b", "other")
    apis.net.nodes["b"].stands = True
    began = apis.net.now()
    silent = await apis.request("a", "POST", QUEUE + path, json=body, is_patient=True)
    assert apis.net.now() - began > 1.2, "it takes its time"
    assert (silent.status_code, silent.json()["reason"]) == (
        503,
        "node mqkit@b has not answered; it may have been done all the same",
    )
    home.lose()
    down = await apis.request("a", "POST", QUEUE + path, json=body)
    assert (down.status_code, down.json()["reason"]) == (
        404,
        "home node 'mqkit@b' of the queue is down or inaccessible",
    )


async def test_a_home_that_is_silent_holds_up_no_move_at_another() -> None:
    apis = PeerApis("a", "b", "c")
    for home in "bc":
        for name in ("from", "to"):
            apis.declare(home, f"{name} {home}")
    apis.net.nodes["b"].stands = True
    path = "/api/queues/%2F/from%20{0}/move"
    silent = asyncio.create_task(
        apis.request("a", "POST", path.format("b"), json={"destination": "to b"})
    )
    for _ in range(100):
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        answer = await apis.request("a", "POST", path.format("c"), json={"destination": "to c"})
    assert answer.json() == {"moved": 0, "messages_ready": 0, "stopped": "count"}
    assert not silent.done()
    silent.cancel()
    with suppress(asyncio.CancelledError):
        await silent


async def test_who_may_not_move_at_the_home_may_not_at_another_node(apis: PeerApis) -> None:
    apis.declare("b", "other")
    for node in "ab":
        apis[node].add_user("ann", "secret", "management")
    answer = await apis.request(
        "a", "POST", QUEUE + "/move", json={"destination": "other"}, auth=("ann", "secret")
    )
    assert answer.status_code == 401


async def test_the_aliveness_test_goes_through_the_home_of_its_queue(
    apis: PeerApis, home: ScriptedHome
) -> None:
    apis.declare("b", ALIVENESS_QUEUE, durable=False)
    asking = asyncio.create_task(apis.get("a", "/api/aliveness-test/%2F"))
    await _until(lambda: bool(home.published))
    assert home.asked == []
    apis["a"].lone.take(home.confirm)
    await _until(lambda: bool(home.asked))
    apis["a"].lone.take(lambda: home.answer(Got(1, False, _content(b"test_message"), 0)))
    assert (await asking).json() == {"status": "ok"}
    home.lose()
    answer = await apis.get("a", "/api/aliveness-test/%2F")
    assert answer.status_code == 503
    assert "is down or inaccessible" in answer.json()["reason"]
