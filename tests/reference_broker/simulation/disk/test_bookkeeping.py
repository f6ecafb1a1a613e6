from __future__ import annotations

from mqkit.wire import PERSISTENT, Properties
from mqkit.wire.methods import (
    BasicConsume,
    BasicQos,
    ExchangeDeclare,
    Method,
    QueueBind,
    QueueDeclare,
    TxSelect,
)
from reference_broker.simulation.disk import bookkeeping
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.events.events import Books
from reference_broker.store import open_log
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.lone_log import pump

LOGGED = Properties(delivery_mode=PERSISTENT, message_id="1")


class Rig:
    """A broker on a log, and a client whose every method is answered."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk()
        self.log, _ = open_log(self.disk, segment_bytes=4_096)
        self.lone = LoneBroker(self.log)
        self.broker = self.lone.broker
        self.client = self.lone.client()

    def say(self, *methods: Method) -> None:
        for method in methods:
            self.client.send(1, method)
            while pump(self.log, self.disk) is not None:
                self.broker.synced(self.log.synced, self.lone.now_s, self.lone.wall_ms)

    def books(self) -> Books:
        return bookkeeping.books_of(self.log, self.broker)


def test_the_shares_of_a_fanout_are_its_segments_live_bytes() -> None:
    rig = Rig()
    rig.say(ExchangeDeclare("fan", "fanout", durable=True))
    for name in ("a", "b"):
        rig.say(QueueDeclare(name, durable=True), QueueBind(queue=name, exchange="fan"))
    rig.client.publish("", b"x" * 500, exchange="fan", properties=LOGGED)
    books = rig.books()
    ((_, booked, shares),) = books.segments
    assert booked == shares > 500
    assert books.astray == ()


def test_queues_that_nobody_can_name_are_counted_too() -> None:
    rig = Rig()
    rig.say(QueueDeclare("q", durable=True, arguments={"x-message-id-window": 9}))
    rig.client.publish("q", properties=LOGGED)
    assert len(bookkeeping.all_queues(rig.broker)) == 2
    ((_, booked, shares),) = rig.books().segments
    queue = rig.broker.vhosts["/"].queues["q"]
    assert booked == shares > queue.index.entry(queue.index.tail - 1).stored


def test_a_virtual_host_has_its_inner_queues_and_no_others() -> None:
    rig = Rig()
    rig.say(QueueDeclare("q", arguments={"x-message-id-window": 9}), QueueDeclare("p"))
    elsewhere = rig.broker.add_vhost("elsewhere")
    ids = set(rig.broker.queues_by_id)
    assert len(ids) == 3
    assert bookkeeping.queue_ids_of(rig.broker.vhosts["/"]) == ids
    assert not bookkeeping.queue_ids_of(elsewhere)


def test_a_message_in_no_segment_is_astray() -> None:
    rig = Rig()
    rig.say(QueueDeclare("q", durable=True))
    rig.client.publish("q", properties=LOGGED)
    queue = rig.broker.vhosts["/"].queues["q"]
    queue.index.set_position(queue.index.tail - 1, 0)
    rig.log._liveness.segments[0].base = 64
    assert rig.books().astray == (("q", 0),)


def test_what_is_held_for_clients() -> None:
    rig = Rig()
    assert not any(bookkeeping.held_for_clients(rig.broker).values())
    rig.say(QueueDeclare("q"), BasicQos(prefetch_count=1), BasicConsume(queue="q"))
    rig.client.publish("q")
    rig.say(TxSelect())
    rig.client.publish("q", b"four")
    held = bookkeeping.held_for_clients(rig.broker)
    assert (held["leases"], held["consumers"]) == (1, 1)
    assert held["bytes of transactions"] > 4


def test_what_is_held_for_messages() -> None:
    rig = Rig()
    rig.say(QueueDeclare("q"))
    assert bookkeeping.held_for_messages(rig.broker) == {"bytes of 'q'": 0}
    rig.client.publish("q", b"four")
    assert bookkeeping.held_for_messages(rig.broker)["bytes of 'q'"] > 4


def test_a_closed_log_has_each_live_byte_once() -> None:
    rig = Rig()
    rig.say(QueueDeclare("q", durable=True))
    rig.client.publish("q", properties=LOGGED)
    before = rig.books()
    rig.log.close()
    assert rig.books() == before


def test_what_is_in_memory_and_not_ready_is_unwanted() -> None:
    rig = Rig()
    rig.say(QueueDeclare("q"))
    for body in (b"1", b"2"):
        rig.client.publish("q", body)
    assert rig.books().unwanted == ()
    queue = rig.broker.vhosts["/"].queues["q"]
    gone, left = queue.contents
    taken = queue.index.take()
    assert taken is not None
    queue.index.settle(taken[0])
    assert rig.books().unwanted == (("q", gone),)
    assert taken[0] == gone != left
