"""The native protocol on event loops of different makes, and a full socket that is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mqkit.message import Message
from mqkit.outcome import Confirmed
from mqkit.transport.native import NativeTransport
from mqkit.transport.native.over_asyncio.protocol import NativeProtocol
from mqkit.transport.seam import Endpoint
from mqkit.url import parse


def _uvloop() -> asyncio.AbstractEventLoop:
    loop: asyncio.AbstractEventLoop = pytest.importorskip("uvloop").new_event_loop()
    return loop


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, _uvloop], ids=["asyncio", "uvloop"])
def test_it_runs_on_every_loop(
    broker_url: str, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def publish() -> None:
        connection = await NativeTransport().connect(parse(broker_url), name="t", timeout_s=10)
        channel = await connection.channel(confirms=True)
        [future] = await channel.publish_many([Message("amq.fanout", "", b"x", mandatory=False)])
        assert await future == Confirmed()
        await connection.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(publish())


class Stuck(asyncio.Transport):
    """A socket that takes nothing any more."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def write(self, data: object) -> None: ...
    def close(self) -> None: ...
    def get_write_buffer_size(self) -> int:
        return 1


@pytest.mark.anyio
async def test_publishers_do_not_wait_for_a_socket_that_was_given_up() -> None:
    protocol = NativeProtocol(Endpoint(), "t", 60)
    protocol.connection_made(Stuck())
    protocol.pause_writing()
    waiting = asyncio.create_task(protocol.room())
    await asyncio.sleep(0)
    protocol.connection.lost(TimeoutError("no heartbeat from the broker"))
    protocol.flush()
    async with asyncio.timeout(1):
        await waiting
    protocol.pause_writing()
    protocol.connection_lost(None)
    assert not protocol.is_full
