"""When a run of publishes is written: at once or at the turn's end, and in what portions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from mqkit.message import Message, Properties
from mqkit.outcome import Outcome
from mqkit.transport.native.encoding import append_publishes
from mqkit.transport.native.over_asyncio.channel import (
    FIRST_OUTPUT_OCTETS,
    OUTPUT_GROWTH,
    OUTPUT_OCTETS_MAX,
    NativeAsyncChannel,
)
from mqkit.transport.native.over_asyncio.connection import NativeAsyncConnection
from mqkit.transport.native.over_asyncio.protocol import NativeProtocol
from mqkit.transport.seam import Endpoint
from mqkit.wire import method_frame, methods

pytestmark = pytest.mark.anyio

FRAME_MAX = 131_072
BODY_OCTETS = 1000


class Socket(asyncio.Transport):
    """Keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def close(self) -> None: ...
    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))


class Stage:
    """A confirm channel, its socket, and the broker's answers."""

    def __init__(self) -> None:
        self.socket = Socket()
        self.protocol = NativeProtocol(Endpoint(), "t", 0)
        self.outcomes: list[Outcome] = []
        self.channel: NativeAsyncChannel

    async def open(self) -> None:
        self.protocol.connection_made(self.socket)
        for method in (
            methods.ConnectionStart(server_properties={}),
            methods.ConnectionTune(2047, FRAME_MAX, 0),
            methods.ConnectionOpenOk(),
        ):
            self.receive(method_frame(0, method))
        opening = asyncio.create_task(NativeAsyncConnection(self.protocol).channel(confirms=True))
        await asyncio.sleep(0)
        for answer in (methods.ChannelOpenOk(), methods.ConfirmSelectOk()):
            self.receive(method_frame(1, answer))
        self.channel = await opening
        await self.end_of_turn()
        self.socket.writes.clear()

    def receive(self, octets: bytes) -> None:
        self.protocol.get_buffer(-1)[: len(octets)] = octets
        self.protocol.buffer_updated(len(octets))

    async def end_of_turn(self) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def publish(self, messages: Sequence[Message]) -> None:
        await self.channel.publish_run(messages, lambda _, each: self.outcomes.extend(each))

    def publish_now(self, message: Message) -> None:
        self.channel.publish_now(message, lambda _, each: self.outcomes.extend(each))

    def confirm_all(self) -> None:
        self.receive(method_frame(1, methods.BasicAck(0, multiple=True)))


@pytest.fixture
async def stage() -> Stage:
    stage = Stage()
    await stage.open()
    return stage


def messages(count: int) -> list[Message]:
    return [
        Message("x", "k", bytes(BODY_OCTETS), Properties(message_id=f"{number:05}"))
        for number in range(count)
    ]


def encoded(published: Sequence[Message]) -> bytes:
    parts: list[bytes] = []
    append_publishes(parts, published, 0, 1, FRAME_MAX, 2**30)
    return b"".join(parts)


async def test_a_long_run_begins_with_a_small_write_and_goes_on_with_larger_ones(
    stage: Stage,
) -> None:
    await stage.publish(published := messages(1000))
    first, second, third, *_ = map(len, stage.socket.writes)
    one = len(encoded(published[:1]))
    assert 0 <= first - FIRST_OUTPUT_OCTETS < one
    assert 0 <= second - FIRST_OUTPUT_OCTETS * OUTPUT_GROWTH < one
    assert 0 <= third - OUTPUT_OCTETS_MAX < one
    await stage.end_of_turn()
    assert b"".join(stage.socket.writes) == encoded(published)
    stage.confirm_all()
    assert [outcome.message_id for outcome in stage.outcomes] == [
        message.properties.message_id for message in published
    ]


async def test_a_short_run_waits_for_the_others_of_its_turn(stage: Stage) -> None:
    published = messages(40)
    await stage.publish(published[:20])
    await stage.publish(published[20:])
    assert stage.socket.writes == []
    await stage.end_of_turn()
    assert stage.socket.writes == [encoded(published)]


async def test_a_broker_that_is_at_work_gets_no_small_writes(stage: Stage) -> None:
    published = messages(701)
    await stage.publish(published[:1])
    await stage.publish(published[1:])
    assert all(len(each) >= OUTPUT_OCTETS_MAX for each in stage.socket.writes)
    assert len(stage.socket.writes) == 2
    await stage.end_of_turn()
    assert b"".join(stage.socket.writes) == encoded(published)


async def test_a_run_waits_where_the_socket_is_full_and_goes_on(stage: Stage) -> None:
    stage.protocol.pause_writing()
    publishing = asyncio.create_task(stage.publish(published := messages(300)))
    await stage.end_of_turn()
    assert stage.socket.writes == []
    stage.protocol.resume_writing()
    await publishing
    await stage.end_of_turn()
    assert b"".join(stage.socket.writes) == encoded(published)


async def test_a_channel_that_closes_while_a_run_waits_sends_no_more(stage: Stage) -> None:
    stage.protocol.pause_writing()
    publishing = asyncio.create_task(stage.publish(messages(3)))
    await stage.end_of_turn()
    closing = asyncio.create_task(stage.channel.close())
    await stage.end_of_turn()
    stage.protocol.resume_writing()
    await publishing
    assert [outcome.message_id for outcome in stage.outcomes] == ["00000", "00001", "00002"]
    assert not any(stage.outcomes)
    stage.receive(method_frame(1, methods.ChannelCloseOk()))
    await closing


async def test_a_lone_message_is_with_the_socket_at_once(stage: Stage) -> None:
    first, second = messages(2)
    stage.publish_now(first)
    assert stage.socket.writes == [encoded([first])]
    stage.publish_now(second)
    await stage.end_of_turn()
    assert stage.socket.writes == [encoded([first]), encoded([second])]
    stage.confirm_all()
    assert [outcome.message_id for outcome in stage.outcomes] == ["00000", "00001"]


async def test_a_lone_message_leaves_nothing_for_the_end_of_the_turn(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = stage.protocol.flush
    flushed: list[int] = []

    def counting() -> None:
        flushed.append(len(flushed))
        flush()

    monkeypatch.setattr(stage.protocol, "flush", counting)
    stage.publish_now(*messages(1))
    await stage.end_of_turn()
    assert len(flushed) == 1


async def test_a_lone_message_takes_along_what_waited_for_the_end_of_the_turn(
    stage: Stage,
) -> None:
    published = messages(3)
    await stage.publish(published[:2])
    stage.publish_now(published[2])
    assert stage.socket.writes == [encoded(published)]
    await stage.end_of_turn()
    assert len(stage.socket.writes) == 1


async def test_a_lone_message_that_cannot_be_encoded_holds_nothing_up(stage: Stage) -> None:
    [good] = messages(1)
    stage.publish_now(Message("x" * 256, "k", b""))
    assert [bool(outcome) for outcome in stage.outcomes] == [False]
    await stage.publish([good])
    await stage.end_of_turn()
    assert stage.socket.writes == [encoded([good])]


async def test_nothing_is_published_at_once_into_a_full_socket_or_a_closed_channel(
    stage: Stage,
) -> None:
    assert stage.channel.can_publish_now
    stage.protocol.pause_writing()
    assert not stage.channel.can_publish_now
    stage.protocol.resume_writing()
    assert stage.channel.can_publish_now
    closing = asyncio.create_task(stage.channel.close())
    await stage.end_of_turn()
    assert not stage.channel.can_publish_now
    stage.receive(method_frame(1, methods.ChannelCloseOk()))
    await closing


async def test_what_a_read_has_left_over_outlives_the_next_read(stage: Stage) -> None:
    await stage.publish(messages(3))
    confirms = [method_frame(1, methods.BasicAck(tag)) for tag in (1, 2, 3)]
    octets = b"".join(confirms)
    for start in range(0, len(octets), 10):
        stage.receive(octets[start : start + 10])
    assert [outcome.message_id for outcome in stage.outcomes] == ["00000", "00001", "00002"]


async def test_the_options_of_a_consumer_are_on_the_wire(stage: Stage) -> None:
    arguments = {"x-priority": 5, "x-cancel-on-ha-failover": True}
    starting = asyncio.create_task(
        stage.channel.consume(
            "q", lambda _: None, consumer_tag="c", exclusive=True, arguments=arguments
        )
    )
    await stage.end_of_turn()
    asked = methods.BasicConsume(queue="q", consumer_tag="c", exclusive=True, arguments=arguments)
    assert stage.socket.writes == [method_frame(1, asked)]
    stage.receive(method_frame(1, methods.BasicConsumeOk("c")))
    assert await starting == "c"
