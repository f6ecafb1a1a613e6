"""Messages in doubt, from life to life: a real broker on a real log, on a disk in memory.

A record that was not written when a life ends is lost, as with the power.
"""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.access.users import UserStore
from reference_broker.core.broker import Broker
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.transfer import Stop, Transfer
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import open_log
from reference_broker.store.log.reading import perform, take_reads
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

    def __init__(self) -> None:
        self._disk = SimulatedDisk()
        self.now_ms = NOW_MS
        self._begin()

    def _begin(self) -> None:
        self._log, recovered = open_log(self._disk)
        self.broker = Broker(self._log, UserStore(), version="1")
        self.broker.begin(0.0, self.now_ms)
        restore(self.broker, recovered)
        resume(self.broker, self._log, self._disk)
        self.write()

    def declare(self, **queues: dict[str, object]) -> None:
        for name, arguments in queues.items():
            self.broker.vhosts["/"].declare_queue(name, durable=True, arguments=arguments)

    def queue(self, name: str) -> Queue:
        return self.broker.vhosts["/"].queues[name]

    def publish(self, name: str, body: bytes = b"m") -> None:
        header = encode_header(len(body), Properties(delivery_mode=2))
        content = Content(b"\x00" + bytes([len(name)]) + name.encode(), header, body)
        vhost = self.broker.vhosts["/"]
        assert enqueue([vhost.queues[name]], content, facts_of(header), vhost)

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
                self._disk.perform(operation)
            self._log.batch_synced(batch)

    def crash(self) -> None:
        """Lose what was not written, and start again."""
        self._begin()

    def stop(self) -> None:
        """End cleanly, and start again."""
        self._log.close()
        self.write()
        self._begin()

    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.broker.tick((self.now_ms - NOW_MS) / 1_000, self.now_ms)
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

    def _read(self) -> None:
        while answers := [perform(self._disk, job).fetched for job in take_reads(self._log)]:
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


def test_through_many_queues_at_once_it_is_marked_in_each(lives: Lives) -> None:
    vhost = lives.broker.vhosts["/"]
    vhost.declare_exchange("all", "fanout", durable=True)
    lives.declare(
        source={"x-message-ttl": TTL_MS, "x-dead-letter-exchange": "all"},
        one={},
        two={"x-message-ttl": 60_000},
    )
    for name in ("one", "two"):
        vhost.bind("all", name, "", destination_is_queue=True)
    lives.publish("source")
    lives.write()
    lives.wait(TTL_MS)
    assert not lives.get("one").redelivered
    lives.crash()
    lives.wait(1)
    assert lives.get("one").redelivered
    assert lives.get("two").redelivered


def test_a_delayed_message_is_marked_where_it_was_due(lives: Lives) -> None:
    vhost = lives.broker.vhosts["/"]
    kind = {"x-delayed-type": "direct"}
    vhost.declare_exchange("later", "x-delayed-message", durable=True, arguments=kind)
    vhost.bind("later", "third", "third", destination_is_queue=True)
    for delay_ms in (500, 5_000):
        lives.publish_later(delay_ms)
    lives.write()
    lives.wait(600)
    assert not lives.get("third").redelivered
    lives.crash()
    lives.wait(1)
    assert lives.get("third").redelivered
    lives.wait(5_000)
    assert not lives.get("third").redelivered


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
