"""The probe: a client in another process and another virtual host, and how long each of its
publishes waits for the confirm.

It publishes a transient message every 10 ms, on another connection a persistent one, whether or not
the one before is confirmed. A message that is still unconfirmed at the end counts with the time
that it has waited, so that a broker which does not answer any more is not forgiven.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import httpx

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.confirm_counter import ConfirmCounter
from mqkit_bench.contestant import HTTP_TIMEOUT_S, Contestant
from mqkit_bench.message import FRAME_MAX_BYTES
from mqkit_bench.session import Address, Session, receive_some
from mqkit_bench.worker import Worker

VHOST = "stalls.probe"
INTERVAL_S = 0.01
ANSWER_BOUND_S = 60.0
"""A broker that has not confirmed by then does not answer any more."""
BODY = b"probe"


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of one connection's messages for their confirms, in ms."""

    messages: int
    longest_ms: float
    p99_ms: float

    @classmethod
    def of(cls, waits_s: list[float]) -> Waits:
        """Raises ``IndexError`` where there are none."""
        ordered = sorted(waits_s)
        p99 = ordered[int(0.99 * (len(ordered) - 1))]
        return cls(len(ordered), 1000 * ordered[-1], 1000 * p99)


@dataclass(frozen=True, slots=True)
class Probed:
    """The waits of one play. ``is_answered`` is false where confirms were missing to the last."""

    transient: Waits
    persistent: Waits
    is_answered: bool


class Line:
    """One connection of the probe, with one queue that keeps one message."""

    def __init__(self, address: Address, *, persistent: bool) -> None:
        queue = f"{VHOST}.{'persistent' if persistent else 'transient'}"
        mode = wire.PERSISTENT if persistent else None
        session = Session(address, ANSWER_BOUND_S)
        declare = methods.QueueDeclare(
            queue=queue, durable=persistent, arguments={"x-max-length": 1}
        )
        session.call(1, declare, methods.QueueDeclareOk)
        session.confirms()
        self.socket = session.detach()
        self._frames = wire.content_frames(
            1,
            methods.BasicPublish(exchange="", routing_key=queue),
            wire.Properties(delivery_mode=mode),
            BODY,
            FRAME_MAX_BYTES,
        )
        self._confirms = ConfirmCounter()
        self._sent_at: deque[float] = deque()
        self._waits_s: list[float] = []
        self._noted = 0

    @property
    def is_confirmed(self) -> bool:
        return not self._sent_at

    def publish(self, now: float) -> None:
        """Send one message. It is never cut: a full socket buffer counts as a wait, too."""
        self._sent_at.append(now)
        self.socket.setblocking(True)
        self.socket.settimeout(ANSWER_BOUND_S)
        self.socket.sendall(self._frames)
        self.socket.setblocking(False)

    def receive(self, now: float) -> None:
        """Call when the socket is readable."""
        self._confirms.feed(receive_some(self.socket))
        while self._noted < self._confirms.confirmed:
            self._noted += 1
            self._waits_s.append(now - self._sent_at.popleft())

    def result(self, now: float) -> Waits:
        """The waits since the last result, unconfirmed messages included."""
        waits = Waits.of([*self._waits_s, *(now - sent for sent in self._sent_at)])
        self._waits_s.clear()
        return waits

    def close(self) -> None:
        self.socket.close()


def probe(pipe: Connection, address: Address) -> None:
    """A worker's task: each time it is told to, publish until it is told again, then report what
    was :class:`Probed`."""
    with ExitStack() as stack:
        lines = [
            stack.enter_context(closing(Line(address, persistent=persistent)))
            for persistent in (False, True)
        ]
        pipe.send(None)
        while True:
            pipe.recv()  # begin
            _measure(pipe, lines)
            pipe.recv()  # and end
            _await_confirms(lines)
            now = time.perf_counter()
            answered = all(line.is_confirmed for line in lines)
            transient, persistent = (line.result(now) for line in lines)
            pipe.send(Probed(transient, persistent, answered))
            if not answered:
                return


def _measure(pipe: Connection, lines: list[Line]) -> None:
    """Publish on all lines every :data:`INTERVAL_S` until the pipe has something."""
    due = time.perf_counter()
    begun = False
    while not begun or not pipe.poll():
        begun = True
        now = time.perf_counter()
        if now >= due:
            for line in lines:
                line.publish(time.perf_counter())
            due = max(due + INTERVAL_S, now)
        _turn(lines, due - time.perf_counter())


def _await_confirms(lines: list[Line]) -> None:
    until = time.perf_counter() + ANSWER_BOUND_S
    while not all(line.is_confirmed for line in lines) and time.perf_counter() < until:
        _turn(lines, INTERVAL_S)


def _turn(lines: list[Line], wait_s: float) -> None:
    readable, _, _ = select.select([line.socket for line in lines], [], [], max(0.0, wait_s))
    now = time.perf_counter()
    for line in lines:
        if line.socket in readable:
            line.receive(now)


@contextmanager
def probing(contestant: Contestant) -> Iterator[Worker]:
    """The probe's process for the time of the block, in a virtual host made for it."""
    address = contestant.address
    with httpx.Client(
        base_url=contestant.management_url,
        auth=(address.username, address.password),
        timeout=HTTP_TIMEOUT_S,
        trust_env=False,
    ) as client:
        client.delete(f"/api/vhosts/{VHOST}")
        client.put(f"/api/vhosts/{VHOST}", json={}).raise_for_status()
        rights = {"configure": ".*", "write": ".*", "read": ".*"}
        path = f"/api/permissions/{VHOST}/{address.username}"
        client.put(path, json=rights).raise_for_status()
    there = Address(address.host, address.port, address.username, address.password, VHOST)
    with Worker(probe, there) as worker:
        worker.report()
        yield worker
