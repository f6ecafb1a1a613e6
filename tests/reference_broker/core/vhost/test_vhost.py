"""vhost: what its queues and its connections ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reference_broker.core.arguments.requeue_position import AT_ITS_PLACE
from reference_broker.core.base.ids import Ids
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.queue.lease import Lease
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.core.work.budget import Budget
from reference_broker.errors import ChannelException

HEADER = b"\x00\x3c" + bytes(12)


class Taker:
    """A consumer that takes everything."""

    tag = "taker"
    no_ack = False
    exclusive = False
    priority = 0
    weight = 1
    requeue = AT_ITS_PLACE
    leaving = None
    attached_from = None

    def __init__(self, vhost: VHost) -> None:
        self.taken: list[Lease] = []
        self.cancelled = 0
        self.found_at_cancellation: list[str] = []
        self._vhost = vhost

    def capacity(self) -> bool:
        return True

    def deliver(self, lease: Lease) -> None:
        self.taken.append(lease)

    def deliver_run(self, leases: Iterator[Lease]) -> int:
        before = len(self.taken)
        self.taken += leases
        return len(self.taken) - before

    def cancelled_by_broker(self) -> None:
        self.cancelled += 1
        self.found_at_cancellation = list(self._vhost.queues)


@pytest.fixture
def vhost() -> VHost:
    return VHost("/", VHostParts(MemoryJournal(), Ids(1)))


def publish(vhost: VHost, exchange: str, key: str, body: bytes = b"body") -> None:
    queues = vhost.resolve(vhost.exchange_for_publish(exchange), key, HEADER)
    route = bytes((len(exchange),)) + exchange.encode() + bytes((len(key),)) + key.encode()
    enqueue(queues, Content(route, HEADER, body), facts_of(HEADER), vhost)
    vhost._dirty.advance()


def advance(vhost: VHost, wall_ms: int) -> None:
    vhost.moment.wall_ms = wall_ms
    vhost.deadlines.fire(wall_ms, Budget())
    vhost._dirty.advance()


def test_messages_go_through_exchange_and_queue_to_a_consumer(vhost: VHost) -> None:
    queue = vhost.declare_queue("q")
    vhost.bind("amq.topic", "q", "a.*", destination_is_queue=True)
    taker = Taker(vhost)
    queue.add_consumer(taker)
    vhost._dirty.advance()
    publish(vhost, "amq.topic", "a.b")
    publish(vhost, "amq.topic", "b.b")
    publish(vhost, "", "q")
    assert [lease.content.route for lease in taker.taken] == [b"\x09amq.topic\x03a.b", b"\x00\x01q"]


def test_a_queue_is_on_the_list_of_dirty_ones_once(vhost: VHost) -> None:
    queue = vhost.declare_queue("q")
    for _ in range(3):
        vhost.mark_dirty(queue)
    assert list(vhost._dirty) == [queue]
    vhost._dirty.advance()
    assert not queue.dirty
    vhost.mark_dirty(queue)
    assert list(vhost._dirty) == [queue]


def test_dead_letters_find_their_way_in_the_same_input(vhost: VHost) -> None:
    vhost.declare_queue(
        "source",
        arguments={
            "x-max-length": 1,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": "parked",
        },
    )
    parked = vhost.declare_queue("parked")
    taker = Taker(vhost)
    parked.add_consumer(taker)
    publish(vhost, "", "source", b"first")
    publish(vhost, "", "source", b"second")
    assert [lease.content.body for lease in taker.taken] == [b"first"]


def test_dead_letters_pass_internal_exchanges_and_need_an_exchange(vhost: VHost) -> None:
    vhost.declare_exchange("internal", "fanout", internal=True)
    queue = vhost.declare_queue("q")
    vhost.bind("internal", "q", "", destination_is_queue=True)
    assert vhost.route("internal", "", HEADER) == (queue,)
    assert vhost.route("nope", "", HEADER) is None


def test_deleting_tells_the_consumers_when_all_is_done(vhost: VHost) -> None:
    queue = vhost.declare_queue("q")
    vhost.bind("amq.fanout", "q", "", destination_is_queue=True)
    takers = [Taker(vhost), Taker(vhost)]
    for taker in takers:
        queue.add_consumer(taker)
    publish(vhost, "", "q")
    with pytest.raises(ChannelException, match="queue 'q' in vhost '/' in use"):
        vhost.delete_queue("q", if_unused=True, if_empty=True)
    vhost.delete_queue("q")
    assert [taker.cancelled for taker in takers] == [1, 1]
    assert takers[0].found_at_cancellation == []
    assert queue.deleted
    assert vhost.bindings() == []
    lease = (takers[0].taken + takers[1].taken)[0]
    queue.ack(lease)
    assert queue.stale_settlements == 1


def test_auto_delete_with_the_last_consumer(vhost: VHost) -> None:
    queue = vhost.declare_queue("q", auto_delete=True, durable=True)
    vhost.declare_exchange("x", "fanout", auto_delete=True)
    vhost.bind("x", "q", "", destination_is_queue=True)
    one, other = Taker(vhost), Taker(vhost)
    queue.add_consumer(one)
    queue.add_consumer(other)
    queue.remove_consumer(one)
    assert "q" in vhost.queues
    before = vhost.topology_version
    queue.remove_consumer(other)
    assert "q" not in vhost.queues
    assert "x" not in vhost.exchanges
    assert vhost.topology_version > before
    assert one.cancelled == other.cancelled == 0


def test_a_queue_that_is_not_used_expires(vhost: VHost) -> None:
    queue = vhost.declare_queue("q", arguments={"x-expires": 1000})
    advance(vhost, 900)
    assert vhost.declare_queue("q", passive=True) is queue
    advance(vhost, 1800)
    assert vhost.declare_queue("q", arguments={"x-expires": 1000}) is queue
    advance(vhost, 2700)
    assert vhost.queues["q"] is queue
    advance(vhost, 4000)
    assert "q" not in vhost.queues


def test_a_queue_that_expires_late_leaves_its_successor_alone(vhost: VHost) -> None:
    old = vhost.declare_queue("q", arguments={"x-expires": 1000})
    vhost.delete_queue("q")
    new = vhost.declare_queue("q")
    vhost.queue_expired(old)
    vhost.queue_unused(old)
    assert vhost.queues["q"] is new


def test_exclusive_queues_go_with_their_connection(vhost: VHost) -> None:
    me, other = object(), object()
    gone: list[str] = []

    class Watcher(Taker):
        def __init__(self, name: str) -> None:
            super().__init__(vhost)
            self.name = name

        def cancelled_by_broker(self) -> None:
            gone.append(self.name)

    for name in ("c", "a", "b"):
        queue = vhost.declare_queue(name, exclusive=True, owner=me, durable=True)
        queue.add_consumer(Watcher(name))
    vhost.declare_queue("others", exclusive=True, owner=other)
    vhost.declare_queue("common", owner=me)
    vhost.delete_queue("a", owner=me)
    list(vhost.release_exclusive(me))
    list(vhost.release_exclusive(me))
    assert gone == ["a", "c", "b"]
    assert list(vhost.queues) == ["others", "common"]
    list(vhost.release_exclusive(other))
    assert list(vhost.queues) == ["common"]


def test_every_change_that_can_alter_a_route_raises_the_version(vhost: VHost) -> None:
    changes: list[Any] = [
        lambda: vhost.declare_queue("q"),
        lambda: vhost.declare_exchange("x", "fanout"),
        lambda: vhost.bind("x", "q", "", destination_is_queue=True),
        lambda: vhost.unbind("x", "q", "", destination_is_queue=True),
        lambda: vhost.delete_exchange("x"),
        lambda: vhost.delete_queue("q"),
        lambda: vhost.restore({}),
    ]
    for change in changes:
        before = vhost.topology_version
        change()
        assert vhost.topology_version > before


def test_listings(vhost: VHost) -> None:
    vhost.declare_queue("q")
    vhost.declare_queue("r")
    vhost.bind("amq.fanout", "r", "k", destination_is_queue=True)
    vhost.bind("amq.fanout", "amq.direct", "", {"a": 1}, destination_is_queue=False)

    def shown(bindings: Any) -> list[str]:
        return [f"{b.source}>{b.destination} {b.properties_key[:2]}" for b in bindings]

    assert shown(vhost.bindings()) == [">q q", ">r r", "amq.fanout>r k", shown(
        vhost.bindings_to("amq.direct", is_queue=False))[0]]  # fmt: skip
    assert shown(vhost.bindings_from("")) == [">q q", ">r r"]
    assert shown(vhost.bindings_to("r", is_queue=True)) == [">r r", "amq.fanout>r k"]
    assert [b.destination for b in vhost.bindings_from("amq.fanout")] == ["r", "amq.direct"]
    assert vhost.bindings_from("nope") == []
    assert vhost.bindings_to("nope", is_queue=True) == []
    assert repr(vhost) == "<VHost '/' exchanges=7 queues=2>"
