from __future__ import annotations

from random import Random

import pytest

from mqkit.wire import PROTOCOL_HEADER, Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicPublish,
    ChannelOpen,
    ConfirmSelect,
    ConnectionOpen,
    ConnectionStartOk,
    ConnectionTuneOk,
    QueueDeclare,
)
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.limits import HANDSHAKE_S
from reference_broker.core.work.budget import UNLIMITED_UNITS
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine import node
from reference_broker.simulation.machine.network import Link, Stream
from reference_broker.simulation.machine.node import Node
from reference_broker.simulation.machine.socket import SOCKET_BUFFER_BYTES
from reference_broker.simulation.plan.plans import BrokerPlan
from reference_broker.store import open_log

SECOND_US = 1_000_000


class Rig:
    """A broker and one link to it."""

    def __init__(self, units: int = UNLIMITED_UNITS) -> None:
        self.clock = SimulatedClock()
        self.disk = PoweredDisk()
        log, recovered = open_log(self.disk, segment_bytes=4_096)
        self.failures = 0
        self.node = Node(
            self.clock,
            Random(1),
            BrokerPlan(4_096, turn_units=units),
            self.disk,
            self.disk,
            log,
            recovered,
            lambda link, data: None,
            self._failed,
        )
        self.received = b""
        self.ended = False
        broker, clock = self.node, self.clock
        to_broker = Stream(
            clock,
            Random(2),
            lambda data, _: broker.receive(self.link, data),
            lambda: broker.receive_eof(self.link),
        )
        self.link = Link(1, to_broker, Stream(clock, Random(3), self._received, self._ended))
        broker.connect(self.link)
        (self.connection,) = broker.broker.connections.values()

    def _failed(self) -> None:
        self.failures += 1

    def _received(self, data: bytes, sent: int) -> None:
        self.received += data

    def _ended(self) -> None:
        self.ended = True

    def log_in(self) -> None:
        self.link.to_broker.send(PROTOCOL_HEADER)
        for channel, method in (
            (0, ConnectionStartOk(response=b"\x00guest\x00guest")),
            (0, ConnectionTuneOk(10, 131_072, 0)),
            (0, ConnectionOpen()),
            (1, ChannelOpen()),
            (1, QueueDeclare("q", durable=True)),
        ):
            self.link.to_broker.send(method_frame(channel, method))
        self.run()

    def hold(self, count: int) -> None:
        """Publish so many messages, and have the client hold all of them."""
        frames = [
            content_frames(1, BasicPublish("", "q"), Properties(delivery_mode=2), b"body", 4_096)
            for _ in range(count)
        ]
        self.link.to_broker.send(b"".join(frames))
        self.link.to_broker.send(method_frame(1, BasicConsume("q")))
        self.run()

    def run(self, seconds: float = 1) -> None:
        self.clock.run(self.clock.now_us + round(seconds * SECOND_US))


def test_timers_fire_in_virtual_time() -> None:
    rig = Rig()
    rig.run(HANDSHAKE_S - 0.1)
    assert not rig.ended
    rig.run(0.2)
    assert rig.ended


def test_a_client_that_is_gone_is_forgotten() -> None:
    rig = Rig()
    rig.log_in()
    rig.link.client_gone()
    rig.run()
    assert not rig.node.broker.connections


def test_after_a_crash_nothing_happens_any_more() -> None:
    rig = Rig()
    rig.log_in()
    rig.node.broker.journal.define("k", b"v")
    rig.node.retry_disk()
    operations = rig.disk.operations
    rig.node.crash()
    rig.node.receive(rig.link, PROTOCOL_HEADER)
    rig.run(60)
    assert rig.disk.operations == operations
    assert rig.ended


def test_a_slow_reader_makes_the_broker_wait() -> None:
    rig = Rig()
    rig.log_in()
    rig.link.to_client.stall(5 * SECOND_US)
    rig.connection.write(bytes(2 * SOCKET_BUFFER_BYTES))
    rig.node.retry_disk()
    rig.link.to_broker.send(method_frame(1, QueueDeclare("q", durable=True)))
    rig.run()
    assert rig.connection.delivery_limit == 0
    rig.run(10)
    assert rig.connection.delivery_limit > 0


def test_a_failed_disk_is_reported() -> None:
    rig = Rig()
    rig.log_in()
    rig.disk.fail_at(1)
    rig.link.to_broker.send(method_frame(1, QueueDeclare("another", durable=True)))
    rig.run()
    assert rig.failures == 1
    assert b"the disk failed" in rig.received


def test_a_clean_stop_tells_the_clients_and_syncs_everything() -> None:
    rig = Rig()
    rig.log_in()
    assert rig.node.stop()
    rig.run()
    assert b"shutdown" in rig.received
    assert rig.ended
    _, recovered = open_log(rig.disk)
    assert recovered.clean
    assert recovered.definitions


def test_work_that_is_left_over_goes_on_in_later_turns() -> None:
    rig = Rig(units=1)
    rig.log_in()
    rig.hold(20)
    (channel,) = rig.connection.channels.values()
    assert len(channel.unacked) == 20
    assert rig.node.counts["turns of work left over"] >= 20
    assert not rig.node.broker.has_work


def test_a_message_that_waits_for_a_larger_spare_is_stored_soon_after_there_is_room() -> None:
    rig = Rig()
    rig.log_in()
    rig.disk.full = True
    large = content_frames(
        1, BasicPublish("", "q"), Properties(delivery_mode=2), bytes(6_000), 4_096
    )
    rig.link.to_broker.send(method_frame(1, ConfirmSelect()) + large)
    rig.run(0.1)
    assert rig.node.broker.alarms.on == [Alarm.DISK]
    rig.disk.full = False
    for _ in range(8):  # the spare becomes a segment before it is tried again, and another is made
        rig.node.administer(lambda broker: broker.journal.define("key", bytes(500)))
    rig.run(0.1)
    assert not rig.node.counts["tries of a full disk"]
    rig.run(2)
    assert rig.received.endswith(method_frame(1, BasicAck(1)))
    assert not rig.node.broker.alarms.on


def test_a_node_knows_for_how_long_no_alarm_has_been_on() -> None:
    rig = Rig()
    rig.log_in()
    alarms = rig.node.broker.alarms
    assert rig.node.unblocked_us == rig.clock.now_us
    alarms.sound(Alarm.DISK)
    rig.node.input_handled()
    rig.run()
    assert rig.node.unblocked_us == 0
    began_us = rig.clock.now_us
    alarms.clear(Alarm.DISK)
    rig.node.input_handled()
    rig.run()
    assert began_us < rig.clock.now_us
    assert rig.node.unblocked_us == rig.clock.now_us - began_us


def test_a_process_may_be_killed_between_two_turns() -> None:
    rig = Rig(units=1)
    rig.log_in()
    rig.hold(20)
    rig.node.receive_eof(rig.link)
    assert rig.node.broker.has_work
    rig.node.crash()
    operations = rig.disk.operations
    rig.run()
    assert rig.node.broker.has_work
    assert rig.disk.operations == operations


@pytest.mark.parametrize(("turns", "clean"), [(1, False), (1_000, True)])
def test_a_stop_with_work_left_over_is_not_a_clean_one(
    turns: int, clean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages that clients hold are not back in their queues yet, so that nobody would know that
    they were handed out before."""
    rig = Rig(units=1)
    rig.log_in()
    rig.hold(20)
    monkeypatch.setattr(node, "TURNS_OF_A_STOP", (turns,))
    assert rig.node.stop() == clean
    assert open_log(rig.disk)[1].clean == clean
