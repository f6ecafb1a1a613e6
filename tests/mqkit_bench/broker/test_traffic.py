"""mqkit_bench.broker.traffic: what does not add up is told, with the counts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.broker import traffic as traffic_module
from mqkit_bench.broker.families import one_queue
from mqkit_bench.broker.receiver import Receiver
from mqkit_bench.broker.sender import Sender
from mqkit_bench.broker.traffic import Passed, Traffic
from mqkit_bench.report import Discrepancy
from mqkit_bench.ring import Ring

SCENARIO = one_queue("test", 10)


@pytest.fixture
def staged() -> Iterator[tuple[Traffic, socket.socket, socket.socket]]:
    """Traffic, and the broker's ends of its two connections."""
    publishing, intake = socket.socketpair()
    consuming, outlet = socket.socketpair()
    sender = Sender(publishing, Ring([SCENARIO.messages[0].publish_frames()]))
    receiver = Receiver(consuming, len(SCENARIO.delivery_frames), ack_every=128)
    with closing(Traffic(SCENARIO, [sender], [receiver])) as traffic, intake, outlet:
        yield traffic, intake, outlet


def confirm(intake: socket.socket, messages: int) -> None:
    intake.sendall(wire.method_frame(1, methods.BasicAck(messages, multiple=True)))


def test_messages_that_never_come_are_missed(
    staged: tuple[Traffic, socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic_module, "STALL_S", 0.0)
    traffic, intake, outlet = staged
    traffic.senders[0].offer(3)
    confirm(intake, 3)
    outlet.sendall(SCENARIO.delivery_frames * 2)
    with pytest.raises(Discrepancy, match="sent 3, confirmed 3, received 2, acked 0"):
        traffic.settle()


def test_messages_that_come_twice_are_noticed(
    staged: tuple[Traffic, socket.socket, socket.socket],
) -> None:
    traffic, intake, outlet = staged
    traffic.senders[0].offer(3)
    confirm(intake, 3)
    outlet.sendall(SCENARIO.delivery_frames * 4)
    with pytest.raises(Discrepancy, match="3 deliveries awaited, 4 came"):
        traffic.settle()


def test_all_is_settled_when_the_last_ack_is_out(
    staged: tuple[Traffic, socket.socket, socket.socket],
) -> None:
    traffic, intake, outlet = staged
    traffic.senders[0].offer(3)
    confirm(intake, 3)
    outlet.sendall(SCENARIO.delivery_frames * 3)
    traffic.settle()
    assert (traffic.sent, traffic.confirmed, traffic.received, traffic.acked) == (3, 3, 3, 3)
    assert outlet.recv(1000) == wire.method_frame(1, methods.BasicAck(3, multiple=True))


def test_a_rate_is_over_all_of_the_time() -> None:
    assert Passed(messages=300, seconds=1.5, client_cpu_s=0.1).rate == 200
