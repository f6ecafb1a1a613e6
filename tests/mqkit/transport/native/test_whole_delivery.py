"""Whole deliveries and the same ones octet by octet, which never are whole: no difference shows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from mqkit.message import Delivery
from mqkit.transport.native.channel import RunConsumer
from mqkit.transport.native.decoding import properties_of
from mqkit.transport.native.delivery_run import DeliveryRun, Way
from mqkit.transport.native.whole_delivery import (
    DELIVER_IDS,
    WAYS_MAX,
    WholeDeliveries,
)
from mqkit.wire import (
    FRAME_HEADER_SIZE,
    HEARTBEAT_FRAME,
    Properties,
    content_frames,
    encode_frame,
    encode_header,
    method_frame,
    methods,
)
from mqkit.wire.spec import FrameType

FRAME_MAX = 131_072
SEEDS = range(40)
DELIVER = methods.BasicDeliver("c", 7, True, "ex", "key")


def delivery(body: bytes = b"body", frame_max: int = FRAME_MAX, **properties: Any) -> bytes:
    return content_frames(1, DELIVER, Properties(**properties), body, frame_max)


def cut(data: bytes, number: int = 1, frame_max: int = FRAME_MAX) -> Any:
    stop = FRAME_HEADER_SIZE + int.from_bytes(data[3:7], "big")
    return WholeDeliveries().cut(data, FRAME_HEADER_SIZE, stop, number, frame_max)


def test_what_is_in_it() -> None:
    data = delivery(message_id="m")
    whole = cut(data + HEARTBEAT_FRAME)
    assert whole.way == Way("c", "ex", "key")
    assert (whole.delivery_tag, whole.redelivered, whole.body) == (7, True, b"body")
    assert whole.header == encode_header(4, Properties(message_id="m"))
    assert whole.end == len(data)


def test_an_empty_body_has_no_frame() -> None:
    data = delivery(b"")
    whole = cut(data + HEARTBEAT_FRAME)
    assert (whole.body, whole.end) == (b"", len(data))


def test_nothing_is_whole_before_its_last_octet() -> None:
    for body in (b"", b"body"):
        data = delivery(body)
        method_end = FRAME_HEADER_SIZE + int.from_bytes(data[3:7], "big") + 1
        for size in range(method_end, len(data)):
            assert cut(data[:size]) is None
        assert cut(data) is not None


@pytest.mark.parametrize(
    "data",
    [
        delivery(b"x" * 9000, frame_max=4096),
        method_frame(1, DELIVER) + HEARTBEAT_FRAME + delivery(),
        method_frame(1, DELIVER) + encode_frame(FrameType.HEADER, 1, b"\0\x3c" + bytes(10)),
        method_frame(1, DELIVER) + encode_frame(FrameType.HEADER, 1, b"\0\x32" + bytes(12)),
        method_frame(1, DELIVER)
        + encode_frame(FrameType.HEADER, 2, encode_header(0, Properties())),
        encode_frame(FrameType.METHOD, 1, DELIVER_IDS) + delivery(),
        encode_frame(FrameType.METHOD, 1, DELIVER_IDS + b"\xff" + bytes(12)) + delivery(),
        encode_frame(FrameType.METHOD, 1, DELIVER_IDS + b"\1\xff" + bytes(11)) + delivery()[28:],
    ],
    ids=[
        "a body of frames",
        "a heartbeat between",
        "a header cut short",
        "another class",
        "another channel",
        "no texts",
        "a tag longer than the frame",
        "a tag that is no text",
    ],
)
def test_what_is_left_to_the_way_of_single_frames(data: bytes) -> None:
    assert cut(data) is None


def test_frames_above_the_limit() -> None:
    data = delivery(b"x" * 5000)
    assert cut(data, frame_max=5000) is not None
    assert cut(data, frame_max=4999) is None


def test_the_ways_that_are_remembered_are_bounded() -> None:
    deliveries = WholeDeliveries()
    for number in range(WAYS_MAX + 1):
        method = methods.BasicDeliver("c", 1, False, "", f"key-{number}")
        data = content_frames(1, method, Properties(), b"", FRAME_MAX)
        stop = FRAME_HEADER_SIZE + int.from_bytes(data[3:7], "big")
        whole = deliveries.cut(data, FRAME_HEADER_SIZE, stop, 1, FRAME_MAX)
        assert whole is not None
        assert whole.way == Way("c", "", f"key-{number}")
    assert len(deliveries._ways) == 1


HEADER_FRAME = encode_frame(FrameType.HEADER, 1, encode_header(4, Properties()))
BODY_FRAME = encode_frame(FrameType.BODY, 1, b"body")


@pytest.mark.parametrize(
    "content",
    [
        HEADER_FRAME + encode_frame(FrameType.BODY, 2, b"body"),
        HEADER_FRAME + encode_frame(FrameType.HEADER, 1, b"body"),
        HEADER_FRAME + encode_frame(FrameType.BODY, 1, b"bo") * 2,
        HEADER_FRAME + BODY_FRAME[:-1] + b"\0",
        HEADER_FRAME[:-1] + b"\0" + BODY_FRAME,
        encode_frame(FrameType.HEADER, 2, encode_header(4, Properties())) + BODY_FRAME,
        encode_frame(FrameType.HEADER, 1, b"\0\x32" + encode_header(4, Properties())[2:])
        + BODY_FRAME,
        HEADER_FRAME + BODY_FRAME[:-1],
    ],
    ids=[
        "a body of another channel",
        "a header for a body",
        "a body in parts",
        "no end of the body",
        "no end of the header",
        "a header of another channel",
        "a header of another class",
        "cut off",
    ],
)
def test_a_run_ends_before_what_is_left_to_the_way_of_single_frames(content: bytes) -> None:
    first, wrong = delivery(), method_frame(1, DELIVER) + content
    run, end = WholeDeliveries().cut_run(first + wrong, 0, 1, FRAME_MAX)
    assert (run.tags, end) == ([7], len(first))
    run, end = WholeDeliveries().cut_run(first * 2 + delivery(b"x" * 40), 0, 1, 30)
    assert (run.tags, end) == ([7, 7], 2 * len(first))


def test_a_run_has_the_way_of_each() -> None:
    ways = [Way("c", "ex", "key"), Way("c", "ex", "kez"), Way("c", "fx", "key")]
    octets = [
        content_frames(1, methods.BasicDeliver("c", tag, False, *way[1:]), Properties(), b"b", 4096)
        for tag, way in enumerate(ways)
    ]
    another = methods.BasicDeliver("d", 9, False, "ex", "key")
    other = content_frames(1, another, Properties(), b"b", 4096)
    run, end = WholeDeliveries().cut_run(b"".join(octets) + other, 0, 1, FRAME_MAX)
    assert (run.ways, run.tags) == (ways, [0, 1, 2])
    assert end == sum(map(len, octets))


def one_by_one(run: DeliveryRun) -> Iterator[Delivery]:
    for way, tag, redelivered, octets, body in zip(
        run.ways, run.tags, run.redelivered, run.properties, run.bodies, strict=True
    ):
        properties = properties_of(encode_header(len(body), Properties())[:-2] + octets)
        consumer_tag, exchange, key = way
        yield Delivery(exchange, key, body, properties, tag, redelivered, consumer_tag)


class Stream:
    """The octets of a broker, made of a seed: deliveries of two consumers on two channels, whole
    and in parts, and now and then an octet that is wrong."""

    def __init__(self, seed: int) -> None:
        print("seed", seed)
        draw = random.Random(seed)
        self.octets = b""
        for tag in range(1, 31):
            method = methods.BasicDeliver(
                draw.choice(["c", "d", "nobody"]),
                tag,
                draw.random() < 0.3,
                draw.choice(["", "ex"]),
                draw.choice(["key", "", "k" * 255, "caf\xe9"]),
            )
            properties = Properties(
                message_id=draw.choice([None, "", f"m{tag}"]),
                headers=draw.choice([None, {"n": tag}]),
                delivery_mode=draw.choice([None, 1, 2]),
                expiration=draw.choice([None, "", "60000", "soon"]),
            )
            body = b"b" * draw.choice([0, 1, 300, 5000])
            frame_max = draw.choice([4096, FRAME_MAX])
            self.octets += content_frames(draw.choice([1, 2]), method, properties, body, frame_max)
            if draw.random() < 0.1:
                self.octets += HEARTBEAT_FRAME
        if draw.random() < 0.6:
            wrong = bytearray(self.octets)
            for _ in range(draw.choice([1, 1, 5])):
                wrong[draw.randrange(len(wrong))] = draw.randrange(256)
            self.octets = bytes(wrong)
        self.read_size = draw.choice([100, 4000, 65_536])

    def seen(
        self, played: Any, size: int, in_runs: Sequence[str] = ()
    ) -> tuple[list[Delivery], list[Any], Any]:
        """Deliveries, what the connection says, and its error, when it reads ``size`` octets at a
        time. Consumers of some tags take theirs ``in_runs``."""
        deliveries: list[Delivery] = []
        for _ in range(2):
            channel = played.channel()
            for tag in ("c", "d"):
                consumer = played.consumer(deliveries.append)
                if tag in in_runs:
                    consumer = RunConsumer(lambda run: deliveries.extend(one_by_one(run)), None)
                channel.consume(methods.BasicConsume("q", tag), consumer, played.answer())
                played.says(methods.BasicConsumeOk(tag), channel=channel.number)
        played.written()
        for start in range(0, len(self.octets), size):
            played.connection.receive(self.octets[start : start + size])
        error = None if played.connection.is_open else str(played.connection.error)
        return deliveries, played.written(), error


@pytest.mark.parametrize("seed", SEEDS)
def test_whole_or_octet_by_octet(seed: int, new_played: Callable[[], Any]) -> None:
    stream = Stream(seed)
    expected = stream.seen(new_played(), 1)
    assert stream.seen(new_played(), stream.read_size) == expected
    assert stream.seen(new_played(), len(stream.octets)) == expected


@pytest.mark.parametrize("in_runs", ["c", "cd"])
@pytest.mark.parametrize("seed", SEEDS)
def test_in_runs_or_octet_by_octet(seed: int, in_runs: str, new_played: Callable[[], Any]) -> None:
    stream = Stream(seed)
    expected = stream.seen(new_played(), 1)
    for size in (1, stream.read_size, len(stream.octets)):
        assert stream.seen(new_played(), size, in_runs) == expected
