"""The relay: the floor. A bare uvloop process through which the same bytes go, unread.

It divides what a publisher wrote by the length of a message, and writes as many encoded deliveries
to the consumers, in turns, and one confirm. No broker does less.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from multiprocessing.connection import Connection
from typing import cast

import uvloop

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.broker.receiver import Receiver
from mqkit_bench.broker.scenario import Scenario
from mqkit_bench.broker.sender import Sender, TimedSender
from mqkit_bench.broker.stage import Stage
from mqkit_bench.broker.traffic import Traffic
from mqkit_bench.contestant import Contestant
from mqkit_bench.ring import PIECE_BYTES, Ring
from mqkit_bench.session import Address
from mqkit_bench.worker import Worker

NAME = "uvloop relay"
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """The relay's ports for publishers and consumers, and its process."""

    publishers: int
    consumers: int
    pid: int


@contextmanager
def relay_stage(scenario: Scenario) -> Iterator[Stage]:
    """The scenario's connections through a relay of its own."""
    delivery = b"" if scenario.is_one_way else scenario.delivery_frames
    ring = Ring([message.publish_frames() for message in scenario.messages])
    with (
        Worker(relay, scenario.publish_bytes, delivery, scenario.confirms) as worker,
        ExitStack() as stack,
    ):
        ports: Ports = worker.report()
        receivers = [
            stack.enter_context(
                closing(Receiver(_connect(ports.consumers), len(delivery), each.ack_every))
            )
            for each in scenario.subscriptions
        ]
        make = TimedSender if scenario.times_confirms else Sender
        senders = [
            stack.enter_context(closing(make(_connect(ports.publishers), ring)))
            for _ in range(scenario.publishers)
        ]
        traffic = stack.enter_context(closing(Traffic(scenario, senders, receivers)))
        contestant = Contestant(NAME, Address(HOST, ports.publishers), "", ports.pid)
        yield Stage(contestant, scenario, traffic)


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection((HOST, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # The relay says so once it has it: no message may come before its consumers are there.
    connection.recv(1)
    return connection


def relay(pipe: Connection, publish_bytes: int, delivery: bytes, confirms: bool) -> None:
    """A worker's task: reports its :class:`Ports`, and relays until it is ended."""
    uvloop.run(_relay(pipe, publish_bytes, delivery, confirms))


async def _relay(pipe: Connection, publish_bytes: int, delivery: bytes, confirms: bool) -> None:
    loop = asyncio.get_running_loop()
    outlet = Outlet(delivery)
    taking = await loop.create_server(
        partial(Intake, publish_bytes, outlet, confirms=confirms), HOST, 0
    )
    giving = await loop.create_server(partial(Consuming, outlet), HOST, 0)
    ports = [server.sockets[0].getsockname()[1] for server in (taking, giving)]
    pipe.send(Ports(ports[0], ports[1], os.getpid()))
    await asyncio.gather(taking.serve_forever(), giving.serve_forever())


class Outlet:
    """The consumers' sockets. A read's deliveries go to one of them; while one has too much,
    nothing is read from publishers."""

    def __init__(self, delivery: bytes) -> None:
        self._size = len(delivery)
        if delivery:
            self._deliveries = memoryview(delivery * (1 + PIECE_BYTES // self._size))
        self._consumers: list[asyncio.Transport] = []
        self._turns = cycle(self._consumers)
        self.publishers: list[asyncio.Transport] = []

    def add(self, consumer: asyncio.Transport) -> None:
        self._consumers.append(consumer)
        self._turns = cycle(tuple(self._consumers))

    def deliver(self, messages: int) -> None:
        if not self._consumers:
            return
        consumer = next(self._turns)
        left = messages * self._size
        while left:
            piece = self._deliveries[:left]
            consumer.write(piece)
            left -= len(piece)

    def pause(self) -> None:
        for publisher in self.publishers:
            publisher.pause_reading()

    def resume(self) -> None:
        for publisher in self.publishers:
            publisher.resume_reading()


class Consuming(asyncio.Protocol):
    """A consumer's connection. Its acks are dropped."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        consumer = cast(asyncio.Transport, transport)
        consumer.write(b"\n")
        self._outlet.add(consumer)

    def pause_writing(self) -> None:
        self._outlet.pause()

    def resume_writing(self) -> None:
        self._outlet.resume()


class Intake(asyncio.Protocol):
    """A publisher's connection: bytes are counted, and whole messages relayed and confirmed."""

    def __init__(self, publish_bytes: int, outlet: Outlet, *, confirms: bool) -> None:
        self._publish_bytes = publish_bytes
        self._outlet = outlet
        self._confirms = confirms
        self._received = self._relayed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(b"\n")
        self._outlet.publishers.append(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        messages = self._received // self._publish_bytes
        if messages == self._relayed:
            return
        self._outlet.deliver(messages - self._relayed)
        self._relayed = messages
        if self._confirms:
            self._transport.write(wire.method_frame(1, methods.BasicAck(messages, multiple=True)))
