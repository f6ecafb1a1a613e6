"""The lease over a real etcd: kept, lost, given back, and not kept for a loop that stands."""

from __future__ import annotations

import http.client
import json
import logging
import threading
from typing import Any
from urllib.parse import urlsplit

import pytest

from mqkit.testing import Etcd
from reference_broker.cluster.coordinator import Changed, Put, Won
from reference_broker.runtime.etcd import lease_thread
from reference_broker.runtime.etcd.fields import Message, key_field
from reference_broker.testing.coordinator_user import CoordinatorUser, LeaseTold, WatchTold
from reference_broker.testing.scripted_gateway import ScriptedGateway, http_answer

pytestmark = pytest.mark.anyio

TTL_S = 2
"""The least that etcd grants."""
BLOCKED_S = 60.0


def ask(etcd_server: Etcd, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """An answer of etcd, for which the whole thread waits."""
    place = urlsplit(etcd_server.endpoints[0])
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=BLOCKED_S)
    connection.request("POST", path, json.dumps(body))
    answer: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def grant(etcd_server: Etcd) -> int:
    """A lease that nobody keeps."""
    return int(ask(etcd_server, "/v3/lease/grant", {"TTL": str(TTL_S)})["ID"])


def wait_until_it_goes(etcd_server: Etcd, key: str) -> None:
    """Block the whole thread until the key is deleted."""
    place = urlsplit(etcd_server.endpoints[0])
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=BLOCKED_S)
    watch = {"create_request": {"key": key_field(key), "filters": ["NOPUT"]}}
    connection.request("POST", "/v3/watch", json.dumps(watch))
    response = connection.getresponse()
    while b"DELETE" not in response.readline():
        pass
    connection.close()


async def gone(told: WatchTold) -> list[str]:
    """The keys that go next."""
    while True:
        news = await told.next()
        if isinstance(news, Changed):
            found = [event.key for event in news.events if event.value is None]
            if found:
                return found


async def put(user: CoordinatorUser, key: str, lease: int) -> int:
    outcome = await user.propose(Put(key, b"", lease))
    assert isinstance(outcome, Won)
    return outcome.revision


async def test_a_lease_outlives_one_that_is_not_kept_and_goes_when_it_is_given_back(
    etcd_server: Etcd, user: CoordinatorUser, prefix: str
) -> None:
    told = LeaseTold()
    keeper = user.coordinator.keep_lease(TTL_S, told)
    lease = await told.granted()
    began = await put(user, prefix + "kept", lease)
    watch = user.watch(prefix, began)
    for number in range(2):
        await put(user, f"{prefix}left-{number}", grant(etcd_server))
        assert await gone(watch) == [f"{prefix}left-{number}"]
    keeper.release()
    keeper.release()
    assert await gone(watch) == [prefix + "kept"]
    assert told.empty()


async def test_a_lease_that_is_revoked_ends_and_another_is_granted(
    etcd_server: Etcd, user: CoordinatorUser
) -> None:
    told = LeaseTold()
    keeper = user.coordinator.keep_lease(TTL_S, told)
    first = await told.granted()
    ask(etcd_server, "/v3/lease/revoke", {"ID": str(first)})
    assert await told.next() == ("ended", first)
    assert await told.granted() != first
    keeper.release()


async def test_a_loop_that_stands_loses_the_lease(
    etcd_server: Etcd, user: CoordinatorUser, prefix: str
) -> None:
    told = LeaseTold()
    keeper = user.coordinator.keep_lease(TTL_S, told)
    lease = await told.granted()
    key = prefix + "kept"
    await put(user, key, lease)
    wait_until_it_goes(etcd_server, key)  # while the loop stands: the thread alone could renew
    assert await told.next() == ("ended", lease)
    assert await told.granted() != lease
    keeper.release()


async def test_the_end_of_a_coordinator_ends_its_threads_and_leaves_the_lease(
    etcd_server: Etcd, prefix: str
) -> None:
    before = threading.active_count()
    user = CoordinatorUser(etcd_server.endpoints)
    told = LeaseTold()
    user.coordinator.keep_lease(TTL_S, told)
    lease = await told.granted()
    await put(user, prefix + "kept", lease)
    await user.close()
    assert not [each for each in threading.enumerate() if each.name == "lease"]
    assert threading.active_count() <= before + 1  # the loop's executor
    found = ask(etcd_server, "/v3/kv/range", {"key": key_field(prefix + "kept")})
    assert found["kvs"][0]["lease"] == str(lease)


async def test_a_lease_that_is_given_back_at_the_end_is_gone_with_it(
    etcd_server: Etcd, prefix: str
) -> None:
    user = CoordinatorUser(etcd_server.endpoints)
    told = LeaseTold()
    keeper = user.coordinator.keep_lease(TTL_S, told)
    await put(user, prefix + "kept", await told.granted())
    keeper.release()
    await user.close()
    assert "kvs" not in ask(etcd_server, "/v3/kv/range", {"key": key_field(prefix + "kept")})


async def test_a_thread_that_reaches_no_etcd_says_so_once_and_tries_until_there_is_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    answers = iter([http_answer(b"", 503)] * 3)
    lease = {"ID": "7", "TTL": "60"}
    async with ScriptedGateway(lambda _: next(answers, http_answer(lease))) as server:
        user = CoordinatorUser([server.endpoint.url])
        told = LeaseTold()
        keeper = user.coordinator.keep_lease(TTL_S, told)
        assert await told.granted() == 7
        assert 0 < user.coordinator.lease_remaining_s <= 60
        keeper.release()
        await user.close()
        assert user.coordinator.lease_remaining_s == 0
        counts = user.coordinator.request_counts
        assert {kind: each[:2] for kind, each in counts.items()} == {
            "grant": (4, 3), "revoke": (1, 0),
        }  # fmt: skip
    assert [request.path for request in server.requests] == [
        *["/v3/lease/grant"] * 4,
        "/v3/lease/revoke",
    ]
    assert caplog.text.count("the lease in etcd is not kept: ") == 1
    assert caplog.text.count("the lease in etcd is kept again") == 1


async def test_an_error_of_ours_ends_no_lease(
    etcd_server: Etcd,
    user: CoordinatorUser,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lease_of = lease_thread._lease_of
    errors = [ZeroDivisionError()]

    def broken_once(answer: Message) -> int:
        if errors:
            raise errors.pop()
        return lease_of(answer)

    monkeypatch.setattr(lease_thread, "_lease_of", broken_once)
    told = LeaseTold()
    keeper = user.coordinator.keep_lease(TTL_S, told)
    await told.granted()
    assert "ZeroDivisionError" in caplog.text
    keeper.release()
