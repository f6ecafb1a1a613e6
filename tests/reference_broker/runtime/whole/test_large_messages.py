"""Large messages in a broker's process: how much memory it takes at most, and what comes out.

Bytes are counted, not seconds: the kernel's high-water mark of the process (VmHWM) against what it
held before. One copy is what there has to be; two is what must never be.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from mqkit.wire import (
    FRAME_OVERHEAD,
    PROTOCOL_HEADER,
    FrameParser,
    FrameType,
    Properties,
    decode_method,
    encode_frame,
    encode_header,
    header_frame,
    method_frame,
    methods,
)
from reference_broker.core.base.limits import MIB, Limits

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc"),
]

BODY_BYTES = 64 * MIB
COPIES_MAX = 1.7
"""Usual is 1.1, the body and what is on its way through two transports' buffers, and up to 1.5 for
16 MiB, where those and the heap's reserve weigh more. The next that could be is 2.0."""

KEPT_MAX = 0.75
"""Of 16 MiB, when all is delivered: buffers and the heap's reserve are 0.45, a kept body 1.1."""

WITH_UVLOOP = "from mqkit_cli.__main__ import main; main()"
WITH_ASYNCIO = "import sys; sys.modules['uvloop'] = None; " + WITH_UVLOOP
FREE = ("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")

FRAME_MAX_BYTES = 131_072
SOCKET_TIMEOUT_S = 30

PIECE = bytes(range(256)) * (FRAME_MAX_BYTES // 256)
"""A piece that a body repeats. No frame's payload is a whole number of it."""


class Session:
    """A bare socket with one channel. It never holds more than a frame."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), SOCKET_TIMEOUT_S)
        self._parser = FrameParser()
        self.socket.sendall(PROTOCOL_HEADER)
        self._await(methods.ConnectionStart)
        start_ok = methods.ConnectionStartOk({}, "PLAIN", b"\0guest\0guest")
        self.call(0, start_ok, methods.ConnectionTune)
        self.socket.sendall(method_frame(0, methods.ConnectionTuneOk(1, FRAME_MAX_BYTES, 0)))
        self.call(0, methods.ConnectionOpen("/"), methods.ConnectionOpenOk)
        self.call(1, methods.ChannelOpen(), methods.ChannelOpenOk)

    def call(self, channel: int, method: methods.Method, answer: type[methods.Method]) -> None:
        """Send a method and wait for its answer, which is the next thing that comes."""
        self.socket.sendall(method_frame(channel, method))
        self._await(answer)

    def _await(self, answer: type[methods.Method]) -> None:
        while (frame := self._parser.next_frame()) is None:
            self._parser.receive_data(self.socket.recv(4096))
        assert isinstance(decode_method(frame.payload), answer)


class Running(NamedTuple):
    """A broker in a process of its own."""

    pid: int
    port: int

    def memory(self, name: str) -> int:
        """``VmRSS`` or ``VmHWM``, in bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024


Start: TypeAlias = Callable[[str], Running]


@pytest.fixture
def start() -> Iterator[Start]:
    processes = []

    def run(program: str) -> Running:
        process = subprocess.Popen(
            [sys.executable, "-c", program, "broker", "run", *FREE, "--message-size-max", "64MiB"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={name: text for name, text in os.environ.items() if not name.startswith("MQKIT_")},
        )
        processes.append(process)
        assert process.stdout is not None
        ready = re.match(r"ready amqp=127\.0\.0\.1:(\d+) ", process.stdout.readline())
        assert ready is not None
        return Running(process.pid, int(ready[1]))

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def content(first: methods.Method, size: int) -> Iterator[bytes]:
    """The frames of a method and its message, one at a time: nobody here holds a whole body."""
    yield method_frame(1, first)
    yield header_frame(1, encode_header(size, Properties()))
    for at in range(0, size, FRAME_MAX_BYTES - FRAME_OVERHEAD):
        length = min(FRAME_MAX_BYTES - FRAME_OVERHEAD, size - at)
        turn = at % 256
        yield encode_frame(FrameType.BODY, 1, (PIECE[turn:] + PIECE[:turn])[:length])


def publish(session: Session, exchange: str, routing_key: str, size: int) -> None:
    """Returns when the broker has it all."""
    for frame in content(methods.BasicPublish(exchange, routing_key), size):
        session.socket.sendall(frame)
    session.call(1, methods.BasicQos(), methods.BasicQosOk)


def consume(session: Session, queue: str, *, no_ack: bool = False) -> None:
    session.call(1, methods.QueueDeclare(queue), methods.QueueDeclareOk)
    session.call(1, methods.BasicConsume(queue, "tag", no_ack=no_ack), methods.BasicConsumeOk)


def assert_delivered(session: Session, delivered: methods.BasicDeliver, size: int) -> None:
    """The next that comes is this delivery, octet for octet."""
    buffer = bytearray(FRAME_MAX_BYTES)
    for frame in content(delivered, size):
        got = memoryview(buffer)[: len(frame)]
        at = 0
        while at < len(frame):
            read = session.socket.recv_into(got[at:])
            assert read, "the broker closed the connection"
            at += read
        assert zlib.crc32(got) == zlib.crc32(frame)


@pytest.mark.parametrize("program", [WITH_UVLOOP, WITH_ASYNCIO], ids=["uvloop", "asyncio"])
def test_a_large_message_is_held_once_on_its_way_through(start: Start, program: str) -> None:
    broker = start(program)
    publisher, consumer = Session(broker.port), Session(broker.port)
    consume(consumer, "q")
    before = broker.memory("VmRSS")
    publish(publisher, "", "q", BODY_BYTES)
    assert_delivered(consumer, methods.BasicDeliver("tag", 1, False, "", "q"), BODY_BYTES)
    copies = (broker.memory("VmHWM") - before) / BODY_BYTES
    print(f"{copies:.2f} copies at most")
    assert 0.9 < copies < COPIES_MAX
    publisher.socket.close()
    consumer.socket.close()


def test_what_large_messages_took_goes_back_to_the_system(start: Start) -> None:
    """Of the default's size: malloc would soon take the next from its heap, copy it there while it
    grows, if it has to, and keep what it had."""
    size = Limits().message_size_max
    broker = start(WITH_UVLOOP)
    publisher, consumer = Session(broker.port), Session(broker.port)
    consume(consumer, "q", no_ack=True)
    before = broker.memory("VmRSS")
    for tag in range(1, 7):
        publish(publisher, "", "q", size)
        assert_delivered(consumer, methods.BasicDeliver("tag", tag, False, "", "q"), size)
    copies = (broker.memory("VmHWM") - before) / size
    kept = (broker.memory("VmRSS") - before) / size
    print(f"{copies:.2f} copies at most, {kept:.2f} at the end")
    assert 0.9 < copies < COPIES_MAX
    assert kept < KEPT_MAX
    publisher.socket.close()
    consumer.socket.close()


@pytest.mark.parametrize("program", [WITH_UVLOOP, WITH_ASYNCIO], ids=["uvloop", "asyncio"])
def test_queues_and_consumers_that_do_not_read_share_a_large_message(
    start: Start, program: str
) -> None:
    broker = start(program)
    publisher = Session(broker.port)
    consumers = [Session(broker.port) for _ in range(5)]
    for number, consumer in enumerate(consumers):
        consume(consumer, f"q{number}")
        bind = methods.QueueBind(f"q{number}", "amq.fanout", "")
        consumer.call(1, bind, methods.QueueBindOk)
    before = broker.memory("VmRSS")
    publish(publisher, "amq.fanout", "k", BODY_BYTES)
    for consumer in consumers:
        delivered = methods.BasicDeliver("tag", 1, False, "amq.fanout", "k")
        assert_delivered(consumer, delivered, BODY_BYTES)
        consumer.socket.close()
    copies = (broker.memory("VmHWM") - before) / BODY_BYTES
    print(f"{copies:.2f} copies at most")
    assert 0.9 < copies < COPIES_MAX
    publisher.socket.close()
