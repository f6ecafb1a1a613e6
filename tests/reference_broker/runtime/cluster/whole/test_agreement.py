"""Declared on one node, routed to on the others at once; declared on two at once, it is one.

``MQKIT_AT_ONCE_PUBLISHES`` and ``MQKIT_CONFLICTS`` say how often: 10,000 and 1,000 are promised.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import aiormq
import pytest
from aiormq import spec
from aiormq.abc import AbstractChannel, AbstractConnection
from aiormq.exceptions import ChannelPreconditionFailed

from mqkit.testing import Cluster
from reference_broker.testing.etcd_rows import EtcdRows

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.timeout(900)]

PUBLISHES = int(os.environ.get("MQKIT_AT_ONCE_PUBLISHES", "400"))
CONFLICTS = int(os.environ.get("MQKIT_CONFLICTS", "60"))
TIMEOUT_S = 30
EACH = 10
"""Publishes of a round on each of two nodes: half by the queue's name, half by its binding."""


@asynccontextmanager
async def _connections(nodes: Cluster) -> AsyncIterator[Sequence[AbstractConnection]]:
    opened = [await aiormq.connect(url) for url in nodes.urls]
    try:
        yield opened
    finally:
        for each in opened:
            await each.close()


async def _unroutable(channel: AbstractChannel, exchange: str, key: str, publishes: int) -> int:
    """Publish so often, mandatory and all at once; the number that came back."""
    confirmed = await asyncio.gather(
        *(
            channel.basic_publish(
                str(number).encode(), exchange=route, routing_key=key, mandatory=True
            )
            for number in range(publishes // 2)
            for route in ("", exchange)
        ),
        return_exceptions=True,
    )
    return sum(not isinstance(each, spec.Basic.Ack) for each in confirmed)


def _await_keys(rows: EtcdRows, keys: set[str]) -> None:
    """Return when these are all that etcd has: what spoke of what is gone is removed later."""
    deadline = time.monotonic() + TIMEOUT_S
    while (found := rows.keys()) != keys and time.monotonic() < deadline:
        pass
    assert found == keys


def test_what_is_declared_and_bound_on_one_is_routed_to_on_the_others_at_once(
    nodes: Cluster,
) -> None:
    rows = EtcdRows(nodes.etcd.endpoints[0], nodes.name)
    before = rows.keys()

    async def scenario() -> tuple[int, int]:
        published = unroutable = 0
        async with _connections(nodes) as connections:
            a, b, c = [await each.channel(publisher_confirms=True) for each in connections]
            await a.exchange_declare("at once", exchange_type="direct")
            for number in count():
                if published >= PUBLISHES:
                    break
                queue = f"at once {number}"
                await a.queue_declare(queue, durable=bool(number % 2))
                await a.queue_bind(queue, "at once", queue)
                unroutable += sum(
                    await asyncio.gather(
                        *(_unroutable(each, "at once", queue, EACH) for each in (b, c))
                    )
                )
                published += 2 * EACH
                deleted = await a.queue_delete(queue)
                assert unroutable or deleted.message_count == 2 * EACH
            await a.exchange_delete("at once")
        return published, unroutable

    published, unroutable = asyncio.run(scenario())
    print(f"{published} published on b and c after an -ok on a, {unroutable} unroutable")
    assert unroutable == 0
    _await_keys(rows, before)


async def _declares_queue(connection: AbstractConnection, name: str, kind: int) -> bool:
    """False for 406, and any other refusal is raised."""
    channel = await connection.channel()
    try:
        await channel.queue_declare(name, durable=True, arguments={"x-max-length": 1 + kind})
    except ChannelPreconditionFailed:
        return False
    await channel.close()
    return True


async def _declares_exchange(connection: AbstractConnection, name: str, kind: int) -> bool:
    channel = await connection.channel()
    try:
        await channel.exchange_declare(name, exchange_type=("direct", "fanout")[kind], durable=True)
    except ChannelPreconditionFailed:
        return False
    await channel.close()
    return True


def test_of_two_that_declare_one_name_differently_exactly_one_wins_and_nothing_is_left(
    nodes: Cluster,
) -> None:
    rows = EtcdRows(nodes.etcd.endpoints[0], nodes.name)
    before = rows.keys()

    async def scenario() -> list[int]:
        wins = [0, 0]
        async with _connections(nodes) as (a, b, c):
            deleting = await c.channel()
            for number in range(CONFLICTS):
                name = f"of two {number}"
                declares = (_declares_queue, _declares_exchange)[number % 2]
                won = await asyncio.gather(declares(a, name, 0), declares(b, name, 1))
                assert sorted(won) == [False, True], f"{name}: {won}"
                winner = won.index(True)
                wins[winner] += 1
                # All agree on which: it is declared again as the winner did, and not otherwise.
                for each in (a, b, c):
                    assert await declares(each, name, winner)
                    assert not await declares(each, name, 1 - winner)
                if declares is _declares_queue:
                    await deleting.queue_delete(name)
                else:
                    await deleting.exchange_delete(name)
        return wins

    wins = asyncio.run(scenario())
    print(f"{CONFLICTS} names declared differently on two nodes: a won {wins[0]}, b {wins[1]}")
    _await_keys(rows, before)
