"""Watches of a real etcd: all that changed, by transaction, until they end; and those that must."""

from __future__ import annotations

import pytest

from mqkit.testing import Etcd
from reference_broker.cluster.coordinator import (
    Changed,
    Delete,
    Event,
    News,
    Progressed,
    Put,
    Unread,
    WatchEnded,
    Won,
)
from reference_broker.runtime.etcd.client import EtcdClient
from reference_broker.runtime.etcd.config import EtcdConfig, endpoint
from reference_broker.runtime.etcd.json_lines import LINE_OCTETS_MAX
from reference_broker.testing.coordinator_user import CoordinatorUser, WatchTold
from reference_broker.testing.scripted_gateway import (
    Answer,
    Request,
    ScriptedGateway,
    http_answer,
)

pytestmark = pytest.mark.anyio

STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def won(user: CoordinatorUser, *changes: Put | Delete) -> int:
    outcome = await user.propose(*changes)
    assert isinstance(outcome, Won)
    return outcome.revision


async def changed(told: WatchTold) -> Changed:
    """The next transaction, whatever progress is told before it."""
    while isinstance(news := await told.next(), Progressed):
        pass
    assert isinstance(news, Changed)
    return news


async def ended(told: WatchTold) -> WatchEnded:
    news: News = await told.next()
    while not isinstance(news, WatchEnded):
        news = await told.next()
    return news


async def compact(etcd_server: Etcd, revision: int) -> None:
    places = tuple(endpoint(each) for each in etcd_server.endpoints)
    client = EtcdClient(EtcdConfig(places), None)
    await client.ask("/v3/kv/compaction", {"revision": str(revision)}, 20.0)
    await client.close()


async def test_transactions_are_told_whole_and_in_order(user: CoordinatorUser, prefix: str) -> None:
    a, b = prefix + "a", prefix + "b"
    first = await won(user, Put(a, b"1"), Put(b, b"2"))
    told = user.watch(prefix, first - 1)
    second = await won(user, Delete(a), Put(b, b"3"))
    await won(user, Put("/mqkit/elsewhere", b""))
    third = await won(user, Put(a, b"4"))
    assert await changed(told) == Changed(
        first, (Event(a, b"1", first, created=first), Event(b, b"2", first, created=first))
    )
    assert await changed(told) == Changed(
        second, (Event(a, None, second), Event(b, b"3", second, created=first))
    )
    assert await changed(told) == Changed(third, (Event(a, b"4", third, created=third),))


async def test_a_watch_that_is_quiet_tells_how_far_it_is(
    user: CoordinatorUser, prefix: str
) -> None:
    first = await won(user, Put(prefix + "a", b""))
    told = user.watch(prefix, first)
    elsewhere = await won(user, Put("/mqkit/elsewhere", b""))
    news = await told.next()
    while isinstance(news, Progressed) and news.revision < elsewhere:
        news = await told.next()
    assert isinstance(news, Progressed)  # maybe further: leases of other tests end meanwhile


async def test_a_watch_that_was_away_is_told_everything_once(
    user: CoordinatorUser, prefix: str
) -> None:
    value = bytes(200_000)
    revisions = [await won(user, Put(f"{prefix}{number}", value)) for number in range(30)]
    told = user.watch(prefix, revisions[0] - 1)
    assert [(await changed(told)).revision for _ in revisions] == revisions


async def test_a_watch_goes_on_after_what_was_told(user: CoordinatorUser, prefix: str) -> None:
    first = await won(user, Put(prefix + "a", b""))
    told = user.watch(prefix, first - 1)
    assert (await changed(told)).revision == first
    told.watch.close()
    told.watch.close()
    second = await won(user, Put(prefix + "a", b""))
    again = user.watch(prefix, first)
    assert (await changed(again)).revision == second
    assert told.empty()


async def test_a_watch_from_before_a_compaction_says_so(
    etcd_server: Etcd, user: CoordinatorUser, prefix: str
) -> None:
    first = await won(user, Put(prefix + "a", b""))
    told = user.watch(prefix, first - 1)
    await changed(told)
    told.watch.close()
    await won(user, Delete(prefix + "a"))
    last = await won(user, Put(prefix + "b", b""))
    await compact(etcd_server, last)
    end = await ended(user.watch(prefix, first))
    assert end.compacted
    unread = await user.read(prefix, revision=first)
    assert isinstance(unread, Unread)
    assert unread.compacted
    # So the rows are read anew, and the watch goes on from there.
    again = user.watch(prefix, last)
    revision = await won(user, Put(prefix + "c", b""))
    assert (await changed(again)).revision == revision


async def test_a_connection_that_breaks_ends_the_watch(prefix: str) -> None:
    opened = b'{"result":{"header":{"revision":"5"},"created":true}}\n'
    chunk = b"%x\r\n%b\r\n" % (len(opened), opened)
    async with ScriptedGateway(lambda _: STREAM + chunk) as server:
        user = CoordinatorUser([server.endpoint.url])
        told = user.watch(prefix, 3)
        await server.asked(1)
        server.break_all()
        end = await told.next()
        assert end == WatchEnded(f"etcd at {server.endpoint}: the connection broke")
        await user.close()


@pytest.mark.parametrize(
    ("body", "words", "compacted"),
    [
        (b"{}\n", "no revision", False),
        (b"nonsense\n", "it is no JSON", False),
        (b'{"error":{"message":"etcdserver: no leader","grpc_code":14}}\n', "no leader", False),
        (b"", "it ended the watch", False),
        (b"x" * (LINE_OCTETS_MAX + 1), "has more than", True),
    ],
    ids=["empty", "nonsense", "error", "end", "too-long"],
)
async def test_a_stream_that_is_of_no_use_ends_the_watch_with_a_reason(
    prefix: str, body: bytes, words: str, compacted: bool
) -> None:
    async with ScriptedGateway(lambda _: http_answer(body)) as server:
        user = CoordinatorUser([server.endpoint.url])
        end = await user.watch(prefix, 3).next()
        assert isinstance(end, WatchEnded)
        assert words in end.reason
        assert end.compacted is compacted
        await user.close()


async def test_a_member_that_refuses_the_watch_leaves_it_to_the_next(
    etcd_server: Etcd, prefix: str
) -> None:
    async with ScriptedGateway(lambda _: http_answer(b"Not Found", 404)) as server:
        user = CoordinatorUser([server.endpoint.url, *etcd_server.endpoints])
        first = await won(user, Put("/mqkit/elsewhere", b""))
        user.coordinator._client.endpoints.answered(server.endpoint)
        told = user.watch(prefix, first)
        revision = await won(user, Put(prefix + "a", b""))
        assert (await changed(told)).revision == revision
        assert "/v3/watch" in [request.path for request in server.requests]
        await user.close()


async def test_a_silent_watch_is_ended_when_the_store_goes_on(prefix: str) -> None:
    opened = b'{"result":{"header":{"revision":"5"},"created":true}}\n'
    revision = [3]

    def script(request: Request) -> Answer:
        if request.path == "/v3/watch":
            return STREAM + b"%x\r\n%b\r\n" % (len(opened), opened)
        return http_answer({"header": {"revision": str(revision[0])}})

    async with ScriptedGateway(script) as server:
        user = CoordinatorUser([server.endpoint.url], compare_every_s=0.02)
        told = user.watch(prefix, 3)
        await server.asked(8)
        assert told.empty()
        revision[0] = 4
        end = await told.next()
        assert isinstance(end, WatchEnded)
        assert "is silent at revision 3, and the store was at 4" in end.reason
        await user.close()
