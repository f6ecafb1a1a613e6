"""Three nodes over three members of etcd, which are killed, stopped, and compacted behind a cut."""

from __future__ import annotations

import asyncio
import base64
import json
import urllib.request
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from mqkit.testing import Etcd, EtcdUnavailable, etcd
from reference_broker.cluster.coordinator import Won
from reference_broker.cluster.link.secret import Secret
from reference_broker.runtime.cluster.service import ClusterConfig
from reference_broker.runtime.etcd.config import EtcdConfig, endpoint
from reference_broker.runtime.net.address import Address
from reference_broker.testing.member_process import MemberProcess

pytestmark = [pytest.mark.live, pytest.mark.slow]

TIMEOUT_S = 90


@pytest.fixture(scope="module")
def members() -> Iterator[Etcd]:
    try:
        with etcd(members=3, progress_every_s=1) as found:
            yield found
    except EtcdUnavailable as why:
        pytest.skip(str(why))


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - nobody tells it
        await asyncio.sleep(0)


@asynccontextmanager
async def _nodes(members: Etcd) -> AsyncIterator[list[MemberProcess]]:
    config = ClusterConfig(
        cluster=f"test {uuid.uuid4().hex}",
        node="",
        etcd=EtcdConfig(tuple(map(endpoint, members.endpoints))),
        secret=Secret(b"the secret of a test"),
        listen=Address("127.0.0.1", 0),
    )
    async with asyncio.timeout(TIMEOUT_S), AsyncExitStack() as stack:
        nodes = [MemberProcess(replace(config, node=name)) for name in "abc"]
        for node in nodes:
            stack.push_async_callback(node.service.stop)
        await asyncio.gather(*(node.service.start() for node in nodes))
        await _until(lambda: all(len(node.peers) == 2 for node in nodes))
        yield nodes
        assert [node.left_for for node in nodes] == [[], [], []]


def test_a_leader_of_etcd_that_is_killed_is_noticed_by_nobody(members: Etcd) -> None:
    async def scenario() -> None:
        async with _nodes(members) as nodes:
            leader = members.leader()
            members.kill(leader)
            for number in range(30):
                outcome = await nodes[number % 3].put(f"def/parameter/{number}", b"x")
                assert isinstance(outcome, Won)
                assert min(node.revision for node in nodes) >= outcome.revision
            await asyncio.to_thread(members.start, leader)

    asyncio.run(scenario())


def test_what_was_asked_while_etcd_was_away_is_done_when_it_is_back(members: Etcd) -> None:
    async def scenario() -> None:
        async with _nodes(members) as nodes:
            members.kill()
            asked = [
                asyncio.create_task(nodes[number % 3].put(f"def/parameter/{number}", b"x"))
                for number in range(30)
            ]
            await asyncio.to_thread(members.start)
            outcomes = await asyncio.gather(*asked)
            assert [type(outcome) for outcome in outcomes] == [Won] * 30
            await _until(lambda: len({len(node.service.node.view) for node in nodes}) == 1)

    asyncio.run(scenario())


def test_a_watch_that_was_compacted_away_is_made_up_for(members: Etcd) -> None:
    async def scenario() -> None:
        async with _nodes(members) as nodes:
            a, b, _ = nodes
            feed = b.service.node.feed
            # Its watch is cut, as by a partition, until what it has missed is compacted.
            feed._end_watch()
            feed._number += 1
            b.service.node.relay.close()  # or the others tell what it misses
            outcomes = [
                asyncio.create_task(a.put(f"def/parameter/{number}", b"x")) for number in range(20)
            ]
            view = a.service.node.view
            await _until(lambda: view.revision_of("def/parameter/19") > 0)
            _call(members, "/v3/kv/deleterange", {"key": _key(a, "def/parameter/7")})
            await _until(lambda: view.revision_of("def/parameter/7") == 0)
            _call(members, "/v3/kv/compaction", {"revision": str(view.revision.value)})
            feed._begin_watch()
            for outcome in await asyncio.gather(*outcomes):
                assert isinstance(outcome, Won)
            await _until(lambda: b.revision >= a.revision)
            revisions = [
                {
                    key: node.service.node.view.revision_of(key)
                    for key in list(node.service.node.view.keys())
                }
                for node in (a, b)
            ]
            await _until(lambda: len(a.service.node.view) == len(b.service.node.view))
            assert "def/parameter/7" not in revisions[1]
            definitions = [
                {key: found for key, found in each.items() if key.startswith("def/")}
                for each in revisions
            ]
            assert definitions[0] == definitions[1]

    asyncio.run(scenario())


def _key(node: MemberProcess, key: str) -> str:
    return base64.b64encode((node.service.node.feed._prefix + key).encode()).decode()


def _call(members: Etcd, path: str, body: dict[str, str]) -> None:
    request = urllib.request.Request(
        members.endpoints[0] + path, json.dumps(body).encode(), method="POST"
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        answer.read()
