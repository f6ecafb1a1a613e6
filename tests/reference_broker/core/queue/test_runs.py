"""Runs of deliveries and of acks: the same as one message at a time, and no more than has room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import Properties, encode_header
from mqkit.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicDeliver,
    BasicNack,
    BasicQos,
    QueueDeclare,
)
from reference_broker.core.index.memory_window import MESSAGE_OVERHEAD_BYTES
from reference_broker.core.message.content import Content
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.runs import ack_leases
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

FRAME_MAX = 4096


def filled(bodies: list[bytes], ids: list[str]) -> LoneClient:
    client = LoneBroker().client(frame_max=FRAME_MAX)
    client.send(1, QueueDeclare("q", durable=True))
    for body, message_id in zip(bodies, ids, strict=True):
        client.publish("q", body, properties=Properties(message_id=message_id), frame_max=FRAME_MAX)
    client.received()
    return client


messages = st.lists(
    st.tuples(
        st.sampled_from([b"", b"a", b"bc", b"de", b"x" * 5000]), st.sampled_from(["1", "2", "333"])
    ),
    max_size=12,
)


@given(messages, st.booleans())
def test_a_run_is_the_frames_of_its_messages(wanted: list[tuple[bytes, str]], no_ack: bool) -> None:
    client = filled([body for body, _ in wanted], [number for _, number in wanted])
    client.send(1, BasicConsume(queue="q", consumer_tag="tag", no_ack=no_ack, nowait=True))
    received = client.received()
    assert [(each.body, each.header[-1:]) for each in received] == [
        (body, number[-1:].encode()) for body, number in wanted
    ]
    assert [each.method for each in received] == [
        BasicDeliver(consumer_tag="tag", delivery_tag=tag, exchange="", routing_key="q")
        for tag in range(1, len(wanted) + 1)
    ]
    queue = client.connection.broker.vhosts["/"].queues["q"]
    channel = client.connection.channels[1]
    held = 0 if no_ack else len(wanted)
    assert (queue.ready, queue.unacked, len(channel.unacked)) == (0, held, held)
    assert queue.delivered == len(wanted)
    assert (channel.outstanding, queue.acked) == (held, len(wanted) - held)
    assert channel.delivered_no_ack == queue.delivered_no_ack == len(wanted) - held


def tags(client: LoneClient) -> list[int]:
    return [
        each.method.delivery_tag
        for each in client.received()
        if isinstance(each.method, BasicDeliver)
    ]


@pytest.mark.parametrize("of_channel", [True, False])
def test_no_run_is_longer_than_the_prefetch(of_channel: bool) -> None:
    client = filled([b"body"] * 9, ["1"] * 9)
    client.send(1, BasicQos(prefetch_count=4, global_=of_channel))
    client.send(1, BasicConsume(queue="q", consumer_tag="c", nowait=True))
    assert tags(client) == [1, 2, 3, 4]
    client.send(1, BasicAck(3, multiple=True))
    assert tags(client) == [5, 6, 7]


def test_what_came_back_is_redelivered_and_first() -> None:
    client = filled([b"%d" % number for number in range(6)], ["1"] * 6)
    client.send(1, BasicQos(prefetch_count=3))
    client.send(1, BasicConsume(queue="q", consumer_tag="c", nowait=True))
    client.received()
    client.send(1, BasicNack(2, multiple=True, requeue=True))
    again = client.received()
    assert [(each.body, each.method.redelivered) for each in again] == [(b"0", True), (b"1", True)]  # type: ignore[attr-defined]
    client.send(1, BasicAck(0, multiple=True))
    assert [each.body for each in client.received()] == [b"3", b"4", b"5"]


def test_a_run_ends_where_the_next_message_is_not_in_memory() -> None:
    host = QueueHost()
    host.window.size_bytes = 3 * (MESSAGE_OVERHEAD_BYTES + 2)
    queue = host.declare("q")
    header = b"\0\x3c" + bytes(10) + b"\x10\0\x02"
    host.publish(queue, *(b"%02d" % number for number in range(6)), header=header)
    assert queue.backlog.absent == 3
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    assert consumer.bodies == [b"00", b"01", b"02"]
    assert isinstance(host.journal, RecordingJournal)
    host.answer_fetches()
    assert consumer.bodies[3:] == [b"03", b"04", b"05"]
    assert queue.ready == queue.backlog.absent == 0


def test_each_of_a_run_has_a_lease_of_its_own() -> None:
    host = QueueHost()
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", b"c", header=b"\0\x3c" + bytes(12))
    first, second = LoneConsumer("first", credit=2), LoneConsumer("second")
    queue.add_consumer(first)
    host.settle()
    queue.remove_consumer(first)
    queue.add_consumer(second)
    host.settle()
    assert [each.number for each in (*first.leases, *second.leases)] == [1, 2, 3]
    assert queue.lease_number == 3
    assert len(set(queue.leases)) == 3


HEADERS = [encode_header(2, Properties(delivery_mode=mode)) for mode in (1, 2)]


class SparingJournal(RecordingJournal):
    """Folds no more than ``at_once`` acks at a time."""

    def __init__(self, at_once: int) -> None:
        super().__init__()
        self.at_once = at_once

    def ack_run(self, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        return super().ack_run(queue_id, sequence, contents[: self.at_once])


def handed_out(at_once: int, modes: str, **arguments: Any) -> tuple[Queue, LoneConsumer]:
    """A queue with a message for each of ``modes`` (2 is persistent), all of them handed out."""
    host = QueueHost(SparingJournal(at_once))
    queue = host.declare("q", **arguments)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    for number, mode in enumerate(modes):
        host.publish(queue, b"%02d" % number, header=HEADERS[mode == "2"])
    return queue, consumer


def state(queue: Queue) -> tuple[object, ...]:
    journal = queue.env.journal
    assert isinstance(journal, RecordingJournal)
    return (
        *(sorted(queue.leases), queue.acked, queue.header_bytes, queue.stale_settlements),
        *(len(queue.index), queue.index.held_bytes, journal.records),
    )


@pytest.mark.parametrize("at_once", [0, 1, 2, 100])
@pytest.mark.parametrize("modes", ["22222222", "11111111", "22112212", "1"])
@pytest.mark.parametrize(
    "places", [range(8), (0, 1, 2, 4, 5, 7), (7, 6, 5, 0, 1), (2, 2, 3, 3), ()]
)
def test_acks_as_a_run_are_the_same_as_one_after_another(
    at_once: int, modes: str, places: Sequence[int]
) -> None:
    seen = []
    for as_run in (True, False):
        queue, consumer = handed_out(at_once, modes)
        leases = [consumer.leases[place] for place in places if place < len(modes)]
        if as_run:
            ack_leases(queue, leases)
        else:
            for lease in leases:
                queue.ack(lease)
        seen.append(state(queue))
    assert seen[0] == seen[1]


def test_a_stale_lease_in_the_middle_changes_nothing() -> None:
    queue, consumer = handed_out(100, "2222")
    queue.requeue([consumer.leases[1]])
    ack_leases(queue, consumer.leases[:4])
    assert (queue.acked, queue.stale_settlements, queue.ready) == (3, 1, 1)


def test_messages_of_several_levels_are_acked_each_on_its_own() -> None:
    queue, consumer = handed_out(100, "2222", max_priority=5)
    ack_leases(queue, consumer.leases)
    assert (queue.acked, queue.unacked, queue.header_bytes) == (4, 0, 0)


class CountedLeases(list[Lease]):
    """Knows how often one of them was looked at, however they are walked."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[Lease]:
        for lease in super().__iter__():
            self.looks += 1
            yield lease


def test_what_was_acked_is_not_walked_over_again() -> None:
    """Two consumers share a queue, and one acks all it has: no two of them follow each other."""
    queue, consumer = handed_out(100, "2" * 400)
    leases = CountedLeases(consumer.leases[::2])
    ack_leases(queue, leases)
    assert queue.acked == len(leases) == 200
    assert leases.looks <= 4 * len(leases)
