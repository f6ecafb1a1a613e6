"""attached_consumer: as much as was granted, and as the lane takes."""

from __future__ import annotations

from typing import Any

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.queues.answer_octets import read_delivery, read_delivery_run
from reference_broker.cluster.queues.attached_consumer import AttachedConsumer
from reference_broker.cluster.queues.held_leases import HeldLeases
from reference_broker.cluster.queues.kinds import AnswerKind
from reference_broker.cluster.queues.lane_output import LaneOutput
from reference_broker.cluster.queues.message_octets import RUN_BYTES
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.channel.consume_arguments import ConsumeArguments
from reference_broker.core.message.header import facts_of
from reference_broker.core.work.until import Until
from reference_broker.testing.homes.noting_taker import message, terms
from reference_broker.testing.link_pair import LinkPair
from reference_broker.testing.lone_queue import QueueHost


class _Session:
    """A session with one consumer of a queue."""

    def __init__(self, *, no_ack: bool = False, **arguments: Any) -> None:
        self.pair = LinkPair().opened()
        self.output = LaneOutput(self.pair.dialer.link, Lane.DELIVER, lambda link: None)
        self.leases = HeldLeases()
        self.node = "origin"
        self.leaving: Until | None = None
        self.delivered = 0
        self.starved: list[AttachedConsumer] = []
        self.gone: list[AttachedConsumer] = []
        self.host = QueueHost()
        self.queue = self.host.declare("q")
        asked = ConsumeArguments(**arguments)
        self.consumer = AttachedConsumer(
            self, 7, self.queue, terms(no_ack=no_ack), asked, exclusive=False
        )
        self.queue.add_consumer(self.consumer)

    def starve(self, consumer: AttachedConsumer) -> None:
        self.starved.append(consumer)

    def consumer_gone(self, consumer: AttachedConsumer) -> None:
        self.gone.append(consumer)

    def publish(self, *bodies: bytes) -> None:
        for body in bodies:
            header = message(body).header
            assert facts_of(header).plain
            self.host.publish(self.queue, body, header=header)
        self.host.settle()

    def sent(self) -> list[tuple[int, int, bool, bytes]]:
        self.output.flush()
        self.pair.settle()
        found = []
        for kind, octets in self.pair.acceptor.received[Lane.DELIVER]:
            reader = OctetReader(memoryview(octets))
            while not reader.is_at_end:
                if kind == AnswerKind.DELIVERY_RUN:
                    attachment, first, contents = read_delivery_run(reader)
                    run = enumerate(contents, first)
                    found += [(attachment, at, False, bytes(it.body)) for at, it in run]
                    continue
                attachment, number, redelivered, content = read_delivery(reader)
                found.append((attachment, number, redelivered, bytes(content.body)))
        return found


def test_it_has_no_capacity_before_it_was_granted_some() -> None:
    session = _Session()
    session.publish(b"1", b"2", b"3")
    assert session.sent() == []
    session.consumer.grant(2, 100)
    session.host.settle()
    assert session.sent() == [(7, 1, False, b"1"), (7, 2, False, b"2")]
    assert len(session.leases) == 2
    session.consumer.grant(1, 100)
    assert not session.consumer.capacity()


def test_a_large_body_is_in_no_run_as_it_would_be_copied_for_it() -> None:
    session = _Session()
    large = bytes(RUN_BYTES + 1)
    session.publish(b"1", b"2", large, large, b"5")
    session.consumer.grant(100, 1 << 40)
    session.host.settle()
    found = [(7, 1 + place, False, body) for place, body in enumerate((b"1", b"2", large, large))]
    assert session.sent() == [*found, (7, 5, False, b"5")]
    runs = session.pair.acceptor.received[Lane.DELIVER]
    sizes = [len(octets) for kind, octets in runs if kind == AnswerKind.DELIVERY_RUN]
    assert max(sizes) < RUN_BYTES


def test_octets_are_counted_over_all() -> None:
    session = _Session(no_ack=True)
    session.consumer.grant(100, 3)
    session.publish(b"12", b"34", b"56")
    assert [body for *_, body in session.sent()] == [b"12", b"34"]
    assert len(session.leases) == 0


def test_a_run_ends_where_the_grant_does() -> None:
    session = _Session()
    session.publish(*[b"12"] * 9)
    session.consumer.grant(100, 7)
    session.host.settle()
    assert len(session.sent()) == 4
    session.consumer.grant(6, 100)
    session.host.settle()
    assert [number for _, number, *_ in session.sent()] == [1, 2, 3, 4, 5, 6]
    assert (len(session.leases), session.delivered, session.queue.ready) == (6, 6, 3)


def test_without_room_in_the_lane_it_says_so_and_is_woken() -> None:
    session = _Session()
    session.consumer.grant(100, 1 << 40)
    session.output.is_held = True
    session.output.add_small(1, b"x")
    session.output.flush()
    session.publish(b"1")
    assert session.starved[:1] == [session.consumer]
    assert session.queue.ready == 1
    session.output.release()
    session.consumer.wake()
    session.host.settle()
    assert session.queue.ready == 0


def test_it_is_what_the_arguments_ask_for() -> None:
    consumer = _Session(priority=3, weight=2).consumer
    assert (consumer.priority, consumer.weight, consumer.tag) == (3, 2, "tag")
    assert consumer.leaving is None
    consumer.settled(3)


def test_its_session_is_told_of_the_end_of_its_queue() -> None:
    session = _Session()
    session.consumer.cancelled_by_broker()
    assert session.gone == [session.consumer]
