"""basic.publish: what is accepted, what is refused, and that its two ways agree."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import Properties, content_frames, encode_frame, encode_header, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicDeliver,
    BasicGet,
    BasicGetOk,
    BasicNack,
    BasicPublish,
    BasicReject,
    BasicReturn,
    ChannelClose,
    ConfirmSelect,
    ConnectionClose,
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
    QueueDelete,
)
from mqkit.wire.spec import FrameType
from reference_broker.core.base.limits import MESSAGE_SIZE_MAX, Limits
from reference_broker.core.channel.publish_target import COPIED_BODY_BYTES_MAX
from reference_broker.core.message.content import Body
from reference_broker.testing.lone_broker import LoneBroker, LoneClient, Received

PUBLISH = method_frame(1, BasicPublish("", "q"))


def header(size: int, class_id: int = 60, weight: int = 0, tail: bytes = b"\x00\x00") -> bytes:
    payload = struct.pack(">HHQ", class_id, weight, size) + tail
    return encode_frame(FrameType.HEADER, 1, payload)


def body(data: bytes) -> bytes:
    return encode_frame(FrameType.BODY, 1, data)


def client_with_queue(limits: Limits | None = None) -> LoneClient:
    client = LoneBroker(limits=limits).client()
    client.send(1, QueueDeclare("q"))
    client.received()
    return client


def in_one_read(client: LoneClient, frames: list[bytes]) -> None:
    client.send_bytes(b"".join(frames))


def frame_by_frame(client: LoneClient, frames: list[bytes]) -> None:
    for frame in frames:
        client.send_bytes(frame)


both_ways = pytest.mark.parametrize("send", [in_one_read, frame_by_frame])
Send = Callable[[LoneClient, list[bytes]], None]


@both_ways
@pytest.mark.parametrize(
    ("frames", "code", "text"),
    [
        ([PUBLISH, PUBLISH], 505, "expected content header for class 60, got non content header"),
        ([PUBLISH, body(b"abc")], 505, "expected content header for class 60, got non content"),
        ([PUBLISH, header(3, class_id=50)], 505, "got one for class 50 instead"),
        ([PUBLISH, header(3, weight=1), body(b"abc")], 505, "got non content header frame instead"),
        ([PUBLISH, header(3), PUBLISH], 505, "expected content body, got non content body frame"),
        ([PUBLISH, header(3), header(3)], 505, "expected content body, got non content body frame"),
        ([PUBLISH, header(3), body(b"abcd")], 505, "exceeds remaining content size"),
        ([PUBLISH, header(3), body(b"ab"), body(b"cd")], 505, "exceeds remaining content size"),
        ([PUBLISH, encode_frame(FrameType.HEADER, 1, b"\x00\x3c\x00")], 501, "unknown_frame"),
        ([PUBLISH, header(3, tail=b"\x80\x00\xff"), body(b"abc")], 502, ""),
    ],
)
def test_frames_that_do_not_make_a_message(
    send: Send, frames: list[bytes], code: int, text: str
) -> None:
    client = client_with_queue()
    send(client, frames)
    close = client.methods()[-1]
    assert isinstance(close, ConnectionClose)
    assert close.reply_code == code
    assert text in close.reply_text
    assert (close.class_id, close.method_id) == ((60, 40) if code != 501 else (0, 0))
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 0


@both_ways
@pytest.mark.parametrize(
    ("exchange", "properties", "code", "text"),
    [
        ("nope", Properties(), 404, "NOT_FOUND - no exchange 'nope' in vhost '/'"),
        (
            "amq.rabbitmq.trace",
            Properties(),
            403,
            "ACCESS_REFUSED - cannot publish to internal exchange 'amq.rabbitmq.trace'"
            " in vhost '/'",
        ),
        (
            "",
            Properties(expiration="abc"),
            406,
            "PRECONDITION_FAILED - invalid expiration 'abc': no_integer",
        ),
        (
            "",
            Properties(user_id="bob"),
            406,
            "PRECONDITION_FAILED - user_id property set to 'bob' but authenticated user was"
            " 'guest'",
        ),
    ],
)
def test_a_message_that_is_refused_closes_its_channel(
    send: Send, exchange: str, properties: Properties, code: int, text: str
) -> None:
    client = client_with_queue()
    good = content_frames(1, BasicPublish("", "q"), Properties(), b"good", 131_072)
    bad = [
        method_frame(1, BasicPublish(exchange, "q")),
        encode_frame(FrameType.HEADER, 1, encode_header(1, properties)),
        body(b"x"),
    ]
    send(client, [good, *bad, good])
    assert client.methods() == [ChannelClose(code, text, 60, 40)]
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 1


@pytest.mark.parametrize("frame", [0, 1, 2])
def test_each_of_the_three_frames_has_to_end_well(frame: int) -> None:
    client = client_with_queue()
    frames = [PUBLISH, header(3), body(b"abc")]
    client.send_bytes(b"".join(frames))
    frames[frame] = frames[frame][:-1] + b"\x00"
    client.send_bytes(b"".join(frames))
    close = client.methods()[0]
    assert isinstance(close, ConnectionClose)
    assert (close.reply_code, close.reply_text[:11]) == (501, "FRAME_ERROR")
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 1


@pytest.mark.parametrize("begun", [[PUBLISH], [PUBLISH, header(3)]])
@pytest.mark.parametrize(
    "intruder",
    [PUBLISH + header(1) + body(b"x"), method_frame(1, BasicAck(1, False))],
)
def test_nothing_may_come_in_between(begun: list[bytes], intruder: bytes) -> None:
    client = client_with_queue()
    client.publish("q")
    client.send(1, BasicGet("q"))
    client.received()
    client.send_bytes(b"".join(begun))
    client.send_bytes(intruder)
    close = client.methods()[0]
    assert isinstance(close, ConnectionClose)
    assert (close.reply_code, close.class_id, close.method_id) == (505, 60, 40)


def test_ones_own_user_id_is_accepted() -> None:
    client = client_with_queue()
    client.publish("q", properties=Properties(user_id="guest"))
    client.send(1, BasicGet("q"))
    assert [method.NAME for method in client.methods()] == ["basic.get-ok"]


def test_immediate_is_not_implemented() -> None:
    client = client_with_queue()
    client.send(1, BasicPublish("", "q", immediate=True))
    assert client.methods() == [ConnectionClose(540, "NOT_IMPLEMENTED - immediate=true", 60, 40)]


@both_ways
def test_a_message_larger_than_the_bound_is_refused_at_its_header(send: Send) -> None:
    client = client_with_queue(Limits(message_size_max=1000))
    send(client, [PUBLISH, header(1000), body(b"x" * 1000)])
    send(client, [PUBLISH, header(1001), body(b"x" * 1001)])
    [close] = client.methods()
    assert close == ChannelClose(
        406,
        "PRECONDITION_FAILED - message size 1001 is larger than configured max size 1000",
        60,
        40,
    )
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 1


def test_a_large_body_is_the_block_that_it_was_collected_in() -> None:
    client = client_with_queue()
    size = 2 * COPIED_BODY_BYTES_MAX
    client.send_bytes(PUBLISH + header(size) + body(bytes(COPIED_BODY_BYTES_MAX)))
    assembly = client.connection.channels[1].assembly
    assert assembly is not None
    block = assembly.body
    client.send_bytes(body(bytes(COPIED_BODY_BYTES_MAX)))
    [content] = client.connection.broker.vhosts["/"].queues["q"].contents.values()
    assert content.body is block.whole()
    assert len(block) == size


def test_a_small_body_is_copied_out_of_its_block() -> None:
    client = client_with_queue()
    half = bytes(COPIED_BODY_BYTES_MAX // 2)
    client.send_bytes(PUBLISH + header(COPIED_BODY_BYTES_MAX) + body(half) + body(half))
    [content] = client.connection.broker.vhosts["/"].queues["q"].contents.values()
    assert type(content.body) is bytes
    assert content.body == half + half


def test_a_block_grows_with_what_arrives_and_not_with_what_is_promised() -> None:
    client = client_with_queue(Limits(message_size_max=MESSAGE_SIZE_MAX))
    client.send_bytes(PUBLISH + header(MESSAGE_SIZE_MAX))
    assembly = client.connection.channels[1].assembly
    assert assembly is not None
    capacities = set()
    for arrived in range(1, 101):
        client.send_bytes(body(bytes(10_000)))
        capacities.add(sys.getsizeof(assembly.body.whole()))
        assert sys.getsizeof(assembly.body.whole()) < 1.2 * arrived * 10_000
    assert len(capacities) < 50  # each is a block that may have been copied


def test_a_huge_declared_size_reserves_nothing() -> None:
    client = client_with_queue()
    client.send_bytes(PUBLISH + header(2**64 - 1))
    assert isinstance(client.methods()[0], ChannelClose)


def test_empty_body_frames_change_nothing() -> None:
    client = client_with_queue()
    client.send_bytes(PUBLISH + header(2) + body(b"") * 100 + body(b"a") + body(b"") + body(b"b"))
    client.send(1, BasicGet("q"))
    assert client.received()[0].body == b"ab"


def test_an_empty_message() -> None:
    client = client_with_queue()
    client.send(1, BasicConsume("q", "tag"))
    client.received()
    client.publish("q", b"")
    client.publish("q", b"", properties=Properties(message_id="m"))
    first, second = client.received()
    assert (first.body, second.body) == (b"", b"")
    assert second.header == encode_header(0, Properties(message_id="m"))


def test_a_return_carries_the_message_and_its_route() -> None:
    client = client_with_queue()
    properties = Properties(message_id="m", headers={"a": 1})
    client.publish(
        "nowhere", b"x" * 10_000, exchange="amq.direct", mandatory=True, properties=properties
    )
    assert client.received() == [
        Received(
            1,
            BasicReturn(312, "NO_ROUTE", "amq.direct", "nowhere"),
            encode_header(10_000, properties),
            b"x" * 10_000,
        )
    ]


def test_a_cached_route_ends_with_the_topology_that_it_was_made_for() -> None:
    client = client_with_queue()
    client.publish("q")
    client.send(1, QueueDelete("q"))
    client.received()
    client.publish("q", mandatory=True)
    assert isinstance(client.methods()[0], BasicReturn)
    client.send(1, QueueDeclare("q"))
    client.publish("q")
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 1


def test_a_route_that_changes_between_method_and_body() -> None:
    client = client_with_queue()
    client.send_bytes(PUBLISH)
    client.connection.broker.vhosts["/"].delete_queue("q")
    client.send_bytes(header(1) + body(b"x"))
    assert client.methods() == []


def test_a_headers_exchange_is_asked_for_every_message() -> None:
    client = client_with_queue()
    client.send(
        1,
        ExchangeDeclare("h", "headers"),
        QueueBind("q", "h", "", arguments={"x-match": "all", "kind": "a"}),
    )
    for kind in ("a", "b", "a"):
        client.publish("", exchange="h", properties=Properties(headers={"kind": kind}))
    assert client.connection.broker.vhosts["/"].queues["q"].ready == 2


MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(["q", "full", "nowhere"]),
        st.binary(max_size=40),
        st.booleans(),
        st.integers(min_value=1, max_value=2),
    ),
    max_size=12,
)


@given(MESSAGES, st.data())
def test_where_reads_end_never_changes_what_comes_out(
    messages: list[tuple[str, bytes, bool, int]], data: st.DataObject
) -> None:
    """The same bytes in one read, and cut anywhere, on two channels. (How many confirms one ack
    covers is the only thing that may differ.)"""
    stream = b"".join(
        content_frames(
            channel,
            BasicPublish("", key, mandatory),
            Properties(message_id=key, delivery_mode=2),
            text,
            4096,
        )
        for key, text, mandatory, channel in messages
    )
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=20).map(sorted))
    pieces = [
        stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True)
    ]
    assert _outcome([stream]) == _outcome(pieces)


def _outcome(
    pieces: list[bytes],
) -> tuple[dict[int, list[Received]], dict[int, list[int]], list[Body]]:
    lone = LoneBroker()
    client = lone.client(channels=(1, 2))
    client.send(1, QueueDeclare("q"), BasicConsume("q", "tag"))
    full = {"x-max-length": 2, "x-overflow": "reject-publish"}
    client.send(2, QueueDeclare("full", arguments=full), ConfirmSelect())
    client.send(1, ConfirmSelect())
    client.received()
    for piece in pieces:
        client.send_bytes(piece)
    others: dict[int, list[Received]] = {1: [], 2: []}
    acked: dict[int, list[int]] = {1: [], 2: []}
    settled: dict[int, set[int]] = {1: set(), 2: set()}
    for received in client.received():
        channel, method = received.channel, received.method
        if isinstance(method, BasicAck):
            first = 1 if method.multiple else method.delivery_tag
            fresh = set(range(first, method.delivery_tag + 1)) - settled[channel]
            acked[channel] += sorted(fresh)
            settled[channel] |= fresh
        else:
            if isinstance(method, BasicNack):
                settled[channel].add(method.delivery_tag)
            others[channel].append(received)
    kept = lone.broker.vhosts["/"].queues["full"].contents.values()
    deliveries = [r for r in others[1] if r.method.NAME == "basic.deliver"]
    others[1] = [r for r in others[1] if r.method.NAME != "basic.deliver"]
    return others, acked, [content.body for content in kept] + [r.body for r in deliveries]


def test_a_routing_key_that_is_no_text_comes_out_as_it_went_in() -> None:
    key = b"\xff.\xc3".decode(errors="surrogateescape")
    client = LoneBroker().client()
    dead_letters = {"x-dead-letter-exchange": "dead"}
    client.send(1, ExchangeDeclare("x", "topic"), ExchangeDeclare("dead", "topic"))
    client.send(1, QueueDeclare("q", arguments=dead_letters), QueueBind("q", "x", "*.*"))
    client.send(1, QueueDeclare("d"), QueueBind("d", "dead", "#"), BasicConsume("q", "tag"))
    client.received()
    client.publish(key, exchange="x")
    client.publish(key, exchange="", mandatory=True)
    client.send(1, BasicReject(1, False), BasicGet("d"))
    deliver, returned, got = client.received()
    assert isinstance(deliver.method, BasicDeliver)
    assert deliver.method.routing_key == key
    assert returned.method == BasicReturn(312, "NO_ROUTE", "", key)
    assert isinstance(got.method, BasicGetOk)
    assert got.method.routing_key == key
    assert b"routing-keysA\0\0\0\x08S\0\0\0\3\xff.\xc3" in got.header


def test_an_exchange_that_is_no_text_is_one_that_is_not_there() -> None:
    client = client_with_queue()
    client.publish("k", exchange="\udcff")
    text = "NOT_FOUND - no exchange '\ufffd' in vhost '/'"
    assert client.methods() == [ChannelClose(404, text, 60, 40)]


def test_a_binding_key_has_to_be_text() -> None:
    client = client_with_queue()
    frame = method_frame(1, QueueBind("q", "amq.direct", "KEY"))
    client.send_bytes(frame.replace(b"KEY", b"K\xffY"))
    text = "FRAME_ERROR - Malformed UTF-8 in shortstr"
    assert client.methods() == [ConnectionClose(501, text, 0, 0)]
