"""Messages in doubt, from life to life: a real broker on a real log, on a disk in memory.

A record that was not written when a life ends is lost, as with the power.
"""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.access.users import UserStore
from reference_broker.core.broker import Broker
from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.transfer import Stop, Transfer
from reference_broker.core.vhost.method_access import Access
from reference_broker.core.vhost.reprocess import reprocess
from reference_broker.core.work.budget import FAN_OUT_UNITS, UNLIMITED_UNITS, Budget
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import open_log
from reference_broker.store.log.reading import perform, take_reads
from reference_broker.store.start.recovery import recover
from reference_broker.store.start.restore import restore, resume

NOW_MS = 1_700_000_000_000
TTL_MS = 1_000

CHAIN: dict[str, dict[str, object]] = {
    "first": {
        "x-message-ttl": TTL_MS,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": "second",
    },
    "second": {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "third"},
    "third": {},
}
"""A queue whose messages expire into the second, and what is rejected there goes to the third."""


class Lives:
    """One data folder, and the broker that uses it now."""

    def __init__(self, turn_units: int = UNLIMITED_UNITS) -> None:
        self.disk = SimulatedDisk()
        self.now_ms = NOW_MS
        self._turn_units = turn_units
        self._begin()

    def _begin(self) -> None:
        self._log, recovered = open_log(self.disk)
        budget = Budget(self._turn_units)
        self.broker = Broker(self._log, UserStore(), version="1", budget=budget)
        self.broker.begin(0.0, self.now_ms)
        restore(self.broker, recovered)
        resume(self.broker, self._log, self.disk)
        self.write()

    def declare(self, **queues: dict[str, object]) -> None:
        for name, arguments in queues.items():
            self.broker.vhosts["/"].declare_queue(name, durable=True, arguments=arguments)

    def queue(self, name: str) -> Queue:
        return self.broker.vhosts["/"].queues[name]

    def publish(self, name: str, body: bytes = b"m", delay_ms: int | None = None) -> None:
        headers = None if delay_ms is None else {"x-delay": delay_ms}
        header = encode_header(len(body), Properties(delivery_mode=2, headers=headers))
        content = Content(b"\x00" + bytes([len(name)]) + name.encode(), header, body)
        vhost = self.broker.vhosts["/"]
        assert enqueue([vhost.queues[name]], content, facts_of(header), vhost)

    def declare_later(self) -> None:
        """A delayed exchange, whose messages go to the third queue."""
        vhost = self.broker.vhosts["/"]
        kind = {"x-delayed-type": "direct"}
        vhost.declare_exchange("later", "x-delayed-message", durable=True, arguments=kind)
        vhost.bind("later", "third", "third", destination_is_queue=True)

    def publish_later(self, delay_ms: int) -> None:
        headers = {"x-delay": delay_ms}
        header = encode_header(1, Properties(delivery_mode=2, headers=headers))
        vhost = self.broker.vhosts["/"]
        queues = vhost.resolve(vhost.exchanges["later"], "third", header)
        content = Content(b"\x05later\x05third", header, b"m")
        assert enqueue(queues, content, facts_of(header), vhost)
        self.broker.finish()

    def write(self) -> None:
        """Have all that was logged on the disk."""
        while (batch := self._log.take_batch()) is not None:
            for operation in batch.operations:
                self.disk.perform(operation)
            self._log.batch_synced(batch)

    def told_of_the_sync(self) -> None:
        """Have the broker know how far the disk is."""
        now_s = (self.now_ms - NOW_MS) / 1_000
        self.broker.synced(self._log.synced, now_s, self.now_ms)
        self._read()

    def crash(self) -> None:
        """Lose what was not written, and start again."""
        self._begin()

    def close(self) -> None:
        """End cleanly."""
        self._log.close()
        self.write()

    def stop(self) -> None:
        """End cleanly, and start again."""
        self.close()
        self._begin()

    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.broker.tick((self.now_ms - NOW_MS) / 1_000, self.now_ms)
        self._read()
        while self.broker.has_work:
            self.broker.budget.refill()
            self.broker.go_on((self.now_ms - NOW_MS) / 1_000, self.now_ms)
            self._read()

    def get(self, name: str) -> Lease:
        for _ in range(3):
            lease = self.queue(name).get(None)
            if lease is not None:
                return lease
            self.write()  # what is not written can't be read
            self._read()
        raise AssertionError(f"{name} is empty")

    def reject(self, lease: Lease) -> None:
        lease.queue.reject(lease)
        self.broker.finish()

    def reprocess(self, name: str) -> None:
        access = Access(self.broker.access, "guest", "/")
        assert reprocess(self.get(name), self.broker.vhosts["/"], access)
        self.broker.finish()

    def _read(self) -> None:
        while answers := [perform(self.disk, job).fetched for job in take_reads(self._log)]:
            self.broker.fetched(answers, (self.now_ms - NOW_MS) / 1_000, self.now_ms)


@pytest.fixture
def lives() -> Lives:
    each = Lives()
    each.declare(**CHAIN)
    return each


def test_a_dead_letter_whose_move_is_lost_comes_back_marked(lives: Lives) -> None:
    lives.publish("first")
    lives.write()
    lives.wait(TTL_MS)
    assert not lives.get("second").redelivered
    lives.crash()
    lives.wait(1)
    assert lives.get("second").redelivered


def test_the_mark_goes_along_a_chain_of_dead_letters(lives: Lives) -> None:
    lives.publish("first")
    lives.write()
    lives.wait(TTL_MS)
    lives.reject(lives.get("second"))
    assert not lives.get("third").redelivered
    lives.crash()
    lives.wait(1)
    lives.reject(lives.get("second"))
    assert lives.get("third").redelivered


def test_it_goes_along_after_a_clean_stop_too(lives: Lives) -> None:
    lives.publish("first")
    lives.write()
    lives.wait(TTL_MS)
    lives.reject(lives.get("second"))
    assert not lives.get("third").redelivered
    lives.crash()
    lives.wait(1)  # into the second queue, where nobody takes it
    lives.stop()
    lives.reject(lives.get("second"))
    assert lives.get("third").redelivered


@pytest.mark.parametrize("turn_units", [UNLIMITED_UNITS, FAN_OUT_UNITS])
def test_through_many_queues_it_is_marked_in_each_however_many_turns_it_takes(
    turn_units: int,
) -> None:
    lives = Lives(turn_units)
    vhost = lives.broker.vhosts["/"]
    vhost.declare_exchange("all", "fanout", durable=True)
    lives.declare(
        source={"x-message-ttl": TTL_MS, "x-dead-letter-exchange": "all"},
        one={},
        two={"x-message-ttl": 60_000},
        three={},
    )
    for name in ("one", "two", "three"):
        vhost.bind("all", name, "", destination_is_queue=True)
    lives.publish("source")
    lives.write()
    lives.wait(TTL_MS)
    assert not lives.get("one").redelivered
    lives.crash()
    lives.wait(1)
    for name in ("one", "two", "three"):
        assert lives.get(name).redelivered


def test_the_log_has_the_mark_of_a_dead_letter_in_a_record_of_its_own(lives: Lives) -> None:
    """The records alone are read: a segment whose footer is damaged is scanned."""
    lives.publish("first")
    lives.write()
    lives.crash()
    lives.wait(TTL_MS)
    lives.close()
    recovered = recover(lives.disk, trust_footers=False)
    assert recovered.clean
    (columns,) = recovered.live_entries(lives.queue("second").id, 0, 1 << 62)
    assert columns.states == bytes([EntryState.REDELIVERED])


def test_a_dead_letter_that_was_held_by_a_delayed_exchange_is_marked(lives: Lives) -> None:
    """It was not due yet at the second crash, and had been handed out before the first."""
    lives.declare_later()
    lives.declare(
        source={
            "x-message-ttl": TTL_MS,
            "x-dead-letter-exchange": "later",
            "x-dead-letter-routing-key": "third",
        }
    )
    lives.broker.vhosts["/"].clock_mark.prepare(lives.now_ms)  # or what is due waits for a sync
    lives.publish("source", delay_ms=900)
    lives.write()
    lives.wait(TTL_MS)
    lives.wait(900)
    assert not lives.get("third").redelivered
    lives.crash()
    lives.wait(1)
    lives.write()  # it is held again
    lives.crash()
    assert lives.queue("third").ready == 0
    lives.wait(900)
    assert lives.get("third").redelivered


def test_a_dead_letter_that_is_reprocessed_is_marked_in_its_origin(lives: Lives) -> None:
    lives.publish("second")
    lives.reject(lives.get("second"))
    lives.write()
    lives.reprocess("third")
    assert not lives.get("second").redelivered
    lives.crash()
    lives.reprocess("third")
    assert lives.get("second").redelivered


def test_a_delayed_message_is_marked_where_it_was_due(lives: Lives) -> None:
    lives.declare_later()
    for delay_ms in (500, 60_000):
        lives.publish_later(delay_ms)
    lives.write()
    lives.wait(600)
    assert not lives.get("third").redelivered
    lives.crash()
    lives.wait(1)
    assert lives.get("third").redelivered
    lives.wait(60_000 - 600)
    lives.write()
    lives.told_of_the_sync()
    assert not lives.get("third").redelivered


def test_a_delayed_message_is_marked_though_the_clock_was_set_back_since_it_was_due(
    lives: Lives,
) -> None:
    lives.declare_later()
    lives.publish_later(500)
    lives.write()
    lives.wait(600)
    assert not lives.get("third").redelivered
    lives.now_ms -= 60_000  # it is not due any more
    lives.crash()
    lives.wait(1)
    assert lives.queue("third").ready == 0
    lives.wait(60_000)
    assert lives.get("third").redelivered


def test_a_dead_letter_is_marked_though_the_clock_was_set_back_since_it_expired(
    lives: Lives,
) -> None:
    lives.publish("first")
    lives.write()
    lives.wait(TTL_MS)
    assert not lives.get("second").redelivered
    lives.now_ms -= 60_000
    lives.crash()
    lives.wait(1)
    assert (lives.queue("first").ready, lives.queue("second").ready) == (1, 0)
    lives.wait(60_000)
    assert lives.get("second").redelivered


def test_what_waits_out_a_requeue_delay_is_marked_though_the_clock_was_set_back(
    lives: Lives,
) -> None:
    lives.declare(slow={"x-requeue-position": "back", "x-requeue-delay": 1_000})
    lives.publish("slow")
    lives.queue("slow").requeue([lives.get("slow")])
    lives.write()
    lives.wait(1_000)
    assert lives.get("slow").redelivered
    lives.now_ms -= 60_000
    lives.crash()
    lives.wait(61_000)
    assert lives.get("slow").redelivered


def test_what_was_overdue_at_a_start_is_marked_though_the_clock_was_set_back_since(
    lives: Lives,
) -> None:
    lives.declare_later()
    lives.publish_later(60_000)
    lives.stop()
    lives.wait(3_600_000)
    assert lives.queue("third").ready == 0, "the mark goes first"
    lives.write()
    lives.told_of_the_sync()
    assert not lives.get("third").redelivered
    lives.now_ms -= 3_600_000
    lives.crash()
    lives.wait(60_000)
    assert lives.get("third").redelivered


def test_a_message_that_is_moved_is_marked_like_a_dead_letter(lives: Lives) -> None:
    lives.declare(lot={})
    lives.publish("lot")
    lives.write()
    Transfer(lives.queue("lot"), lives.queue("third"), 1, 1_000).run()
    assert not lives.get("third").redelivered
    lives.crash()
    move = Transfer(lives.queue("lot"), lives.queue("third"), 1, 1_000)
    assert move.run() is Stop.ABSENT
    lives.wait(1)
    assert move.run() is Stop.COUNT
    assert lives.get("third").redelivered


@pytest.mark.parametrize("stopped", [False, True])
def test_without_an_unclean_stop_a_dead_letter_is_new(lives: Lives, stopped: bool) -> None:
    lives.publish("second")
    lives.queue("second").requeue([lives.get("second")])
    if stopped:
        lives.stop()
    again = lives.get("second")
    assert again.redelivered
    lives.reject(again)
    assert not lives.get("third").redelivered


def test_what_is_published_after_an_unclean_stop_is_not_in_doubt(lives: Lives) -> None:
    lives.publish("second", b"old")
    lives.write()
    lives.crash()
    lives.publish("second", b"new")
    for body, redelivered in ((b"old", True), (b"new", False)):
        lives.reject(lives.get("second"))
        letter = lives.get("third")
        assert (letter.content.body, letter.redelivered) == (body, redelivered)


def test_what_the_queue_refused_was_never_in_it(lives: Lives) -> None:
    lives.declare(
        full={
            "x-max-length": 1,
            "x-overflow": "reject-publish-dlx",
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": "third",
        }
    )
    lives.publish("full")
    lives.write()
    lives.crash()
    vhost = lives.broker.vhosts["/"]
    header = encode_header(1, Properties(delivery_mode=2))
    content = Content(b"\x00\x04full", header, b"n")
    assert not enqueue([lives.queue("full")], content, facts_of(header), vhost)
    lives.broker.finish()
    assert not lives.get("third").redelivered


def test_what_waits_out_a_requeue_delay_over_a_clean_stop_is_redelivered(lives: Lives) -> None:
    """The segment's footer alone says that it had come back."""
    lives.declare(slow={"x-requeue-position": "back", "x-requeue-delay": 1_000})
    lives.publish("slow")
    lives.queue("slow").requeue([lives.get("slow")])
    lives.now_ms += 2_000
    lives.stop()
    assert lives.get("slow").redelivered
