"""Queues: hand-out, settlement, purge, deletion, recovery."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mqkit.wire import Properties, encode_header
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.queue.lease import Lease
from reference_broker.errors import ChannelException, ReplyCode
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now, purge_now
from reference_broker.testing.recording_journal import RECORD_BYTES, RecordingJournal

PERSISTENT = encode_header(1, Properties(delivery_mode=2))
TRANSIENT = encode_header(1, Properties())


@pytest.fixture
def journal() -> RecordingJournal:
    return RecordingJournal(epoch=7)


@pytest.fixture
def host(journal: RecordingJournal) -> QueueHost:
    return QueueHost(journal)


def test_get_gives_messages_in_order_and_counts_them(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"bb", header=PERSISTENT)
    assert (queue.ready, queue.ready_bytes, queue.unacked) == (2, 3, 0)
    first, second = queue.get("me"), queue.get("me")
    assert first is not None
    assert second is not None
    assert queue.get("me") is None
    assert (first.content.body, second.content.body) == (b"a", b"bb")
    assert (first.redelivered, first.holder) == (False, "me")
    assert (queue.ready, queue.unacked, queue.unacked_bytes, queue.got) == (0, 2, 3, 2)
    queue.ack(second)
    assert (queue.unacked, queue.unacked_bytes, queue.acked) == (1, 1, 1)


def test_requeued_messages_come_back_at_their_place_as_redelivered(host: QueueHost) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", b"c", b"d", header=PERSISTENT)
    leases = [lease for _ in range(3) if (lease := queue.get(None))]
    queue.requeue([leases[2], leases[0]])
    again = [queue.get(None) for _ in range(3)]
    assert [(lease.content.body, lease.redelivered) for lease in again if lease] == [
        (b"a", True),
        (b"c", True),
        (b"d", False),
    ]
    assert queue.redelivered_count == queue.requeued == 2


def test_a_stale_lease_changes_nothing_and_is_counted(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q", dead_letter_exchange="")
    host.publish(queue, b"a", header=PERSISTENT)
    old = queue.get(None)
    assert old is not None
    queue.requeue([old])
    new = queue.get(None)
    assert new is not None
    assert new.number > old.number
    before = list(journal.records)
    queue.ack(old)
    queue.reject(old)
    queue.requeue([old])
    assert (queue.stale_settlements, queue.unacked, journal.records) == (3, 1, before)
    queue.ack(new)
    queue.ack(new)
    assert (queue.stale_settlements, queue.acked) == (4, 1)


@pytest.mark.parametrize(("durable", "header"), [(False, PERSISTENT), (True, TRANSIENT)])
def test_only_persistent_messages_of_durable_queues_are_journaled(
    host: QueueHost, journal: RecordingJournal, durable: bool, header: bytes
) -> None:
    queue = host.declare("q", durable=durable)
    host.publish(queue, b"a", b"b", b"c", header=header)
    lease, other = queue.get(None), queue.get(None)
    assert lease is not None
    assert other is not None
    queue.ack(lease)
    queue.requeue([other])
    purge_now(queue)
    delete_now(queue)
    assert journal.records == []


def test_what_is_journaled_says_who_and_where(host: QueueHost, journal: RecordingJournal) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", header=PERSISTENT)
    lease = queue.get(None)
    assert lease is not None
    queue.requeue([lease])
    lease = queue.get(None)
    assert lease is not None
    queue.ack(lease)
    first = lease.sequence
    assert [record[0] for record in journal.records] == ["publish", "publish", "requeue", "ack"]
    assert journal.records[2] == ("requeue", queue.id, first, 0)
    assert journal.records[3] == ("ack", queue.id, first, 0)
    assert journal.live() == [(queue.id, first + 1)]


def test_purge_takes_the_ready_ones_only(host: QueueHost, journal: RecordingJournal) -> None:
    queue = host.declare("q")
    host.publish(queue, b"a", b"b", b"c", header=PERSISTENT)
    lease = queue.get(None)
    assert lease is not None
    assert purge_now(queue) == 2
    assert (queue.ready, queue.unacked, queue.ready_bytes) == (0, 1, 0)
    assert journal.live() == [(queue.id, lease.sequence)]
    queue.requeue([lease])
    assert queue.ready == 1
    assert purge_now(queue) == 1
    assert not queue.contents


def test_delete_leaves_nothing_in_the_journal_and_makes_leases_stale(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q", message_ttl=50, expires=100, dead_letter_exchange="")
    host.publish(queue, b"a", b"b", header=PERSISTENT)
    lease = queue.get(None)
    assert lease is not None
    delete_now(queue)
    delete_now(queue)
    assert journal.live() == []
    assert (queue.ready, queue.unacked) == (0, 0)
    queue.ack(lease)
    queue.requeue([lease])
    assert queue.stale_settlements == 2
    assert len(host.deadlines) == 0
    host.advance(1000)
    assert host.gone == []


def test_consumers_with_no_ack_leave_nothing_unacked(
    host: QueueHost, journal: RecordingJournal
) -> None:
    queue = host.declare("q")
    consumer = LoneConsumer(no_ack=True)
    queue.add_consumer(consumer)
    host.publish(queue, b"a", b"b", header=PERSISTENT)
    assert consumer.bodies == [b"a", b"b"]
    assert (queue.unacked, queue.acked, queue.delivered) == (0, 2, 2)
    assert journal.live() == []


def test_get_lets_waiting_consumers_go_first(host: QueueHost) -> None:
    queue = host.declare("q")
    consumer = LoneConsumer(credit=1)
    queue.add_consumer(consumer)
    host.publish(queue, b"a", b"b", header=TRANSIENT, settle=False)
    lease = queue.get(None)
    assert consumer.bodies == [b"a"]
    assert lease is not None
    assert lease.content.body == b"b"


@pytest.mark.parametrize(
    ("here", "comes"),
    [(True, False), (True, True), (False, True)],
    ids=["second to an exclusive one", "two exclusive", "exclusive, too late"],
)
def test_an_exclusive_consumer_is_alone(host: QueueHost, here: bool, comes: bool) -> None:
    queue = host.declare("q")
    first = LoneConsumer(exclusive=here)
    queue.add_consumer(first)
    with pytest.raises(ChannelException) as refusal:
        queue.add_consumer(LoneConsumer(exclusive=comes))
    assert refusal.value.code is ReplyCode.ACCESS_REFUSED
    assert refusal.value.text == "queue 'q' in vhost '/' in exclusive use"
    assert list(queue.consumers) == [first]
    queue.remove_consumer(first)
    queue.add_consumer(LoneConsumer(exclusive=comes))


def test_a_single_active_queue_has_no_exclusive_consumers(host: QueueHost) -> None:
    queue = host.declare("q", single_active_consumer=True)
    with pytest.raises(ChannelException, match="in exclusive use"):
        queue.add_consumer(LoneConsumer(exclusive=True))


def test_an_auto_delete_queue_goes_with_its_last_consumer(host: QueueHost) -> None:
    queue = host.declare("q", auto_delete=True)
    one, two = LoneConsumer("one"), LoneConsumer("two")
    queue.remove_consumer(one)
    assert host.gone == [], "it never had a consumer"
    queue.add_consumer(one)
    queue.add_consumer(two)
    queue.remove_consumer(one)
    assert host.gone == []
    queue.remove_consumer(two)
    assert host.gone == [("unused", "q")]
    assert queue.deleted


def test_delete_drops_and_dead_letters_nothing(host: QueueHost) -> None:
    grave = host.declare("grave")
    queue = host.declare("q", dead_letter_exchange="", dead_letter_routing_key="grave")
    consumer = LoneConsumer(credit=1)
    queue.add_consumer(consumer)
    host.publish(queue, b"a", b"b", header=PERSISTENT)
    delete_now(queue)
    consumer.credit = 5
    queue.dispatch()
    assert (len(consumer.leases), grave.ready) == (1, 0)
    assert repr(queue) == "<Queue 'q' ready=0 unacked=0>"


def test_restore_brings_messages_back_with_their_places_and_marks(
    host: QueueHost, journal: RecordingJournal
) -> None:
    host.publish(host.declare("q"), b"a", b"b", b"c", header=PERSISTENT)
    queue = host.declare("q", message_ttl=1000)
    index = QueueIndex()
    for position, sequence in enumerate((5, 9, 4097)):
        expires_at = host.moment.wall_ms + sequence
        index.restore(sequence, position, 1, 1 + RECORD_BYTES, sequence == 9, expires_at)
    queue.restore({0: index})
    host.publish(queue, b"d", header=PERSISTENT)
    assert (queue.ready, queue.backlog.absent, len(queue.contents)) == (4, 4, 0)
    host.advance(10)
    consumer = LoneConsumer()
    queue.add_consumer(consumer)
    host.settle()
    host.answer_fetches()
    leases = consumer.leases
    assert [lease.content.body for lease in leases] == [b"c", b"d"]
    assert leases[0].sequence == 4097
    assert leases[1].sequence == 7 << 32, "numbers of this run are above those of earlier ones"
    assert queue.expired == 2


class QueueMachine(RuleBasedStateMachine):
    """A queue against lists: what is ready, what is out, and what the journal would restore."""

    def __init__(self) -> None:
        super().__init__()
        self.journal = RecordingJournal()
        self.host = QueueHost(self.journal)
        self.queue = self.host.declare("q")
        self.consumers: list[LoneConsumer] = []
        self.ready: list[tuple[int, bool]] = []
        self.out: list[Lease] = []
        self.number = 0

    def expect(self, leases: list[Lease]) -> None:
        """These went out, and they were the first ready ones."""
        got = [(int(lease.content.body), lease.redelivered) for lease in leases]
        assert got == self.ready[: len(got)]
        del self.ready[: len(got)]
        self.out += leases

    def collect(self) -> None:
        self.host.settle()
        fresh = [lease for consumer in self.consumers for lease in consumer.leases]
        for consumer in self.consumers:
            consumer.leases.clear()
        self.expect(sorted(fresh, key=lambda lease: lease.number))
        assert not self.ready or all(consumer.credit == 0 for consumer in self.consumers)

    @rule(count=st.integers(1, 5))
    def publish(self, count: int) -> None:
        for _ in range(count):
            self.host.publish(self.queue, b"%d" % self.number, header=PERSISTENT, settle=False)
            self.ready.append((self.number, False))
            self.number += 1
        self.collect()

    @rule(credit=st.integers(0, 4))
    def consume(self, credit: int) -> None:
        self.consumers.append(LoneConsumer(credit=credit))
        self.queue.add_consumer(self.consumers[-1])
        self.collect()

    @rule(place=st.integers(0, 99))
    def cancel(self, place: int) -> None:
        if self.consumers:
            self.queue.remove_consumer(self.consumers.pop(place % len(self.consumers)))

    @rule()
    def get(self) -> None:
        lease = self.queue.get(None)
        assert (lease is None) == (not self.ready)
        self.expect([] if lease is None else [lease])

    @rule(place=st.integers(0, 99), refill=st.booleans())
    def ack(self, place: int, refill: bool) -> None:
        if self.out:
            lease = self.out.pop(place % len(self.out))
            self.queue.ack(lease)
            if refill and isinstance(lease.holder, LoneConsumer):
                lease.holder.credit += 1
                self.host.mark_dirty(self.queue)
            self.collect()

    @rule(places=st.lists(st.integers(0, 99), min_size=1, max_size=4))
    def requeue(self, places: list[int]) -> None:
        leases = [self.out.pop(place % len(self.out)) for place in places if self.out]
        self.queue.requeue(leases)
        self.ready += [(int(lease.content.body), True) for lease in leases]
        self.ready.sort()
        self.collect()

    @rule(place=st.integers(0, 99))
    def reject(self, place: int) -> None:
        if self.out:
            self.queue.reject(self.out.pop(place % len(self.out)))

    @rule()
    def purge(self) -> None:
        assert purge_now(self.queue) == len(self.ready)
        self.ready.clear()

    @invariant()
    def the_counts_and_the_journal_agree(self) -> None:
        assert self.queue.ready == len(self.ready) == len(self.queue.contents)
        assert self.queue.unacked == len(self.out)
        held = [number for number, _ in self.ready] + [int(x.content.body) for x in self.out]
        assert self.queue.index.held_bytes == sum(len(str(number)) for number in held)
        assert len(self.journal.live()) == len(held)
        assert self.queue.stale_settlements == 0


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
