"""mqkit's own client of this API: apply, snapshot and diff against the reference broker."""

from __future__ import annotations

import pytest

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.errors import ConfigurationError
from mqkit.topology import ChangeKind, apply, channels_of, diff, plan, take_snapshot
from mqkit.transport.native import NativeTransport
from mqkit.url import parse
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

WANTED: tuple[Declaration, ...] = (
    Exchange("flights", type="topic", arguments={"alternate-exchange": "unrouted"}),
    Exchange("unrouted", type="fanout", durable=False, auto_delete=False),
    Exchange("inner", type="headers", internal=True),
    Queue("delays", arguments={"x-dead-letter-exchange": "", "x-max-length": 100_000}),
    Queue("odd/name@#:1", durable=False, auto_delete=True, arguments={"x-message-ttl": 5}),
    Binding("flights", "delays", key="*.late"),
    Binding("flights", "delays", key="a/b ~#"),
    Binding("flights", "inner", key="#", to_exchange=True),
    Binding("inner", "odd/name@#:1", arguments={"n": 1, "s": "x", "t": True, "x-match": "all"}),
    Binding("amq.topic", "delays", key="#"),
)


async def test_what_is_applied_is_what_is_read(server: Server) -> None:
    management_url = f"http://guest:guest@127.0.0.1:{server.http_port}"
    endpoint = parse(f"amqp://guest:guest@127.0.0.1:{server.amqp_port}/")
    empty = await take_snapshot(management_url, "/")
    assert empty.declarations == ()
    async with channels_of(NativeTransport(), endpoint, timeout_s=10) as open_channel:
        applied = await apply(plan(WANTED, empty), open_channel)
        assert applied.quarantined == ()
        snapshot = await take_snapshot(management_url, "/")
        assert {change.kind for change in diff(WANTED, snapshot)} == {ChangeKind.SAME}
        assert sorted(map(repr, snapshot.declarations)) == sorted(map(repr, WANTED))
        assert [(live.messages, live.consumers) for live in snapshot.queues] == [(0, 0)] * 2

        fewer = plan(WANTED[:4], snapshot, prune=True)
        await apply(fewer, open_channel, prune=True)
        left = await take_snapshot(management_url, "/")
        assert {change.kind for change in diff(WANTED[:4], left)} == {ChangeKind.SAME}


async def test_a_difference_is_seen(server: Server) -> None:
    server.broker.vhosts["/"].declare_queue("delays", durable=True, arguments={"x-max-length": 5})
    snapshot = await take_snapshot(f"http://127.0.0.1:{server.http_port}", "/")
    (change,) = diff([Queue("delays")], snapshot)
    assert change.kind is ChangeKind.DIFFERENT


@pytest.mark.parametrize(
    ("login", "vhost", "text"),
    [("guest:wrong", "/", "refused the login"), ("guest:guest", "none", "no vhost 'none'")],
)
async def test_what_can_not_be_read(server: Server, login: str, vhost: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        await take_snapshot(f"http://{login}@127.0.0.1:{server.http_port}", vhost)
