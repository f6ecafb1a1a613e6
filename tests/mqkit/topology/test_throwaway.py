"""Channels that die of what they declare, and connections too."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.declaration import Exchange, Queue
from mqkit.errors import ChannelError, ConnectionRefused
from mqkit.topology import ThrowAwayChannel
from mqkit.transport.native import NativeTransport
from mqkit.transport.seam import Channel

pytestmark = pytest.mark.anyio


async def test_a_refusal_costs_one_channel_and_the_next_declaration_gets_a_new_one(
    bench: Any,
) -> None:
    opened: list[Channel] = []

    async def open_channel() -> Channel:
        opened.append(await bench.open_channel())
        return opened[-1]

    q = f"{bench.prefix}.q"
    async with ThrowAwayChannel(open_channel) as channel:
        assert opened == []
        await channel.declare(Queue(q))
        await channel.declare(Queue(q))
        assert len(opened) == 1
        with pytest.raises(ChannelError):
            await channel.declare(Queue(q, durable=False))
        state = await channel.declare(Queue(q))
        assert state is not None
        assert state.name == q
    assert len(opened) == 2
    assert not any(channel.is_open for channel in opened)


async def test_why_the_connection_was_closed_is_told_on_a_plain_connection_too(bench: Any) -> None:
    connection = await NativeTransport().connect(bench.endpoint, name="test", timeout_s=20)
    odd = Exchange(f"{bench.prefix}.odd", "x-nobody-has-this")
    channel = ThrowAwayChannel(connection.channel)
    # RabbitMQ 3.10 closes the connection for it (503), later ones the channel (406).
    with pytest.raises((ConnectionRefused, ChannelError), match="x-nobody-has-this"):
        await channel.declare(odd)
    await connection.close()
