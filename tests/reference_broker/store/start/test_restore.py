"""reference_broker.store.start.restore: a new broker has what the log had, and its timers run."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.access.users import UserStore
from reference_broker.core.broker import Broker
from reference_broker.core.exchange.definitions import (
    QueueDefinition,
    encode_exchange,
    encode_queue,
)
from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.core.journal.clock_mark import AHEAD_MS
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.store import Log, open_log
from reference_broker.store.doctor.queue_names import queue_names
from reference_broker.store.log.reading import perform, take_reads
from reference_broker.store.start.recovered import RecoveredLog
from reference_broker.store.start.restore import Restored, restore, resume
from reference_broker.testing.lone_queue import purge_now

NOW_MS = 1_700_000_000_000


def broker_on(log: Log, wall_ms: int = NOW_MS) -> Broker:
    broker = Broker(log, UserStore(), version="1")
    broker.begin(0.0, wall_ms)
    return broker


def write(log: Log, disk: SimulatedDisk) -> None:
    while (batch := log.take_batch()) is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)


def read(log: Log, disk: SimulatedDisk, broker: Broker, after_ms: int = 1010) -> None:
    answers = [perform(disk, job).fetched for job in take_reads(log)]
    assert answers
    broker.fetched(answers, 0.5, NOW_MS + after_ms)


def start(broker: Broker, log: Log, disk: SimulatedDisk, recovered: RecoveredLog) -> Restored:
    restored = restore(broker, recovered)
    resume(broker, log, disk)
    return restored


def publish(broker: Broker, queue_name: str, body: bytes) -> None:
    vhost = broker.vhosts["/"]
    header = encode_header(len(body), Properties(delivery_mode=2))
    content = Content(b"\x00" + bytes([len(queue_name)]) + queue_name.encode(), header, body)
    assert enqueue([vhost.queues[queue_name]], content, facts_of(header), vhost)


def test_definitions_messages_and_expiry_come_back() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    vhost = broker.vhosts["/"]
    vhost.declare_queue("kept", durable=True)
    vhost.declare_queue("deleted", durable=True)
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "kept"}
    vhost.declare_queue("tier", durable=True, arguments={**dead, "x-message-ttl": 1000})
    for name in ("kept", "deleted", "tier"):
        publish(broker, name, name.encode())
    vhost.delete_queue("deleted")
    write(log, disk)

    log, recovered = open_log(disk)
    broker = broker_on(log, NOW_MS + 500)
    assert start(broker, log, disk, recovered) == Restored(queues=2, messages=2, orphans=0)
    queues = broker.vhosts["/"].queues
    assert (queues["kept"].ready, queues["tier"].ready) == (1, 1)

    broker.tick(0.5, NOW_MS + 1010)
    read(log, disk, broker)  # a dead letter needs its body
    assert (queues["kept"].ready, queues["tier"].ready) == (2, 0)


def test_what_expired_while_the_broker_was_down_goes_at_once() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    broker.vhosts["/"].declare_queue("q", durable=True, arguments={"x-message-ttl": 1000})
    publish(broker, "q", b"old")
    write(log, disk)

    log, recovered = open_log(disk)
    broker = broker_on(log, NOW_MS + 5000)
    start(broker, log, disk, recovered)
    assert broker.vhosts["/"].queues["q"].ready == 0


def test_what_is_lost_is_counted_by_its_queue() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    broker.vhosts["/"].declare_queue("q", durable=True)
    for body in (b"one", b"two", b"three"):
        publish(broker, "q", body)
        write(log, disk)
    (file,) = [each for each in disk.list_files() if each.endswith(".segment")]
    disk.flip(file, 8 * disk.read(file).index(b"two"))
    log, recovered = open_log(disk)
    broker = broker_on(log)
    assert start(broker, log, disk, recovered).messages == 2
    assert broker.vhosts["/"].queues["q"].lost == 1


def test_what_a_delayed_exchange_holds_comes_back_with_its_time() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    declare_later(broker)
    for body, delay in ((b"late", 90_000), (b"soon", 400), (b"missed", 100)):
        publish_later(broker, body, delay)
    publish_later(broker, b"transient", 400, delivery_mode=1)
    write(log, disk)
    publish_later(broker, b"not on disk", 400)

    log, recovered = open_log(disk)
    broker = broker_on(log, NOW_MS + 200)
    assert start(broker, log, disk, recovered) == Restored(queues=2, messages=3, orphans=0)
    vhost = broker.vhosts["/"]
    held = vhost.exchanges["later"].delays
    assert held is not None
    broker.tick(0.1, NOW_MS + 300)
    read(log, disk, broker, 300)
    assert (held.ready, vhost.queues["q"].ready) == (2, 1)
    broker.tick(0.2, NOW_MS + 410)
    assert (held.ready, vhost.queues["q"].ready) == (1, 2)
    assert broker.deadlines.next_ms() == NOW_MS + 90_000 - AHEAD_MS
    write(log, disk)

    _, recovered = open_log(disk)
    assert {id: index[0].ready for id, index in recovered.queues.items()} == {
        held.id: 1,
        vhost.queues["q"].id: 2,
    }


def test_a_delayed_exchange_and_what_it_held_are_gone_together() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    declare_later(broker)
    publish_later(broker, b"x", 5000)
    broker.vhosts["/"].delete_exchange("later")
    write(log, disk)

    log, recovered = open_log(disk)
    assert not any(key.startswith("delayed/") for key in recovered.definitions)
    broker = broker_on(log)
    assert start(broker, log, disk, recovered) == Restored(queues=1, messages=0, orphans=0)


def test_a_crash_between_the_two_definitions_harms_nothing() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    declare_later(broker)
    log.define("delayed/%2F/later", None)
    log.define("delayed/%2F/gone", encode_queue(QueueDefinition(77, "gone", False, {})))
    write(log, disk)

    log, recovered = open_log(disk)
    broker = broker_on(log)
    start(broker, log, disk, recovered)
    publish_later(broker, b"x", 5000)
    write(log, disk)

    _, recovered = open_log(disk)
    names = queue_names(recovered.definitions)
    assert sorted(name.name for name in names.values()) == [
        "delayed by exchange 'later' in vhost '/'",
        "q",
    ]
    assert [index[0].ready for index in recovered.queues.values()] == [1]


def declare_later(broker: Broker) -> None:
    vhost = broker.vhosts["/"]
    arguments = {"x-delayed-type": "direct"}
    vhost.declare_exchange("later", "x-delayed-message", durable=True, arguments=arguments)
    vhost.declare_queue("q", durable=True)
    vhost.bind("later", "q", "k", destination_is_queue=True)


def publish_later(broker: Broker, body: bytes, delay: int, delivery_mode: int = 2) -> None:
    vhost = broker.vhosts["/"]
    properties = Properties(delivery_mode=delivery_mode, headers={"x-delay": delay})
    header = encode_header(len(body), properties)
    queues = vhost.resolve(vhost.exchanges["later"], "k", header)
    assert enqueue(queues, Content(b"\x05later\x01k", header, body), facts_of(header), vhost)
    broker.finish()


def test_what_an_exchange_has_seen_comes_back_without_the_messages() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    declare_once(broker)
    for number in range(5):
        publish_once(broker, str(number))
    publish_once(broker, "short", ttl_ms=100)
    purge_now(broker.vhosts["/"].queues["q"])
    write(log, disk)
    publish_once(broker, "not on disk")

    log, recovered = open_log(disk)
    broker = broker_on(log, NOW_MS + 200)
    start(broker, log, disk, recovered)
    assert not broker.vhosts["/"].loading
    queue = broker.vhosts["/"].queues["q"]
    for number in range(5):
        publish_once(broker, str(number))
    assert queue.ready == 0
    for key in ("short", "not on disk", "new", "new"):
        publish_once(broker, key)
    assert queue.ready == 3


def test_a_crash_before_the_key_stands_alone_loses_neither() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    declare_once(broker)
    publish_once(broker, "a", finish=False)  # its entry is not moved yet
    write(log, disk)

    log, recovered = open_log(disk)
    broker = broker_on(log)
    start(broker, log, disk, recovered)
    publish_once(broker, "a")
    queue = broker.vhosts["/"].queues["q"]
    assert queue.ready == 1
    purge_now(queue)
    write(log, disk)

    log, recovered = open_log(disk)
    assert sum(index[0].held_bytes for index in recovered.queues.values()) == 0
    broker = broker_on(log)
    start(broker, log, disk, recovered)
    publish_once(broker, "a")
    assert broker.vhosts["/"].queues["q"].ready == 0


def declare_once(broker: Broker) -> None:
    vhost = broker.vhosts["/"]
    arguments = {"x-cache-size": 100, "x-cache-ttl": 60_000}
    vhost.declare_exchange("once", "x-message-deduplication", durable=True, arguments=arguments)
    vhost.declare_queue("q", durable=True)
    vhost.bind("once", "q", "", destination_is_queue=True)


def publish_once(
    broker: Broker, key: str, ttl_ms: int | None = None, *, finish: bool = True
) -> None:
    vhost = broker.vhosts["/"]
    headers = {"x-deduplication-header": key} | ({} if ttl_ms is None else {"x-cache-ttl": ttl_ms})
    header = encode_header(4, Properties(delivery_mode=2, headers=headers))
    queues = vhost.resolve(vhost.exchanges["once"], "", header)
    assert enqueue(queues, Content(b"\x04once\x00", header, b"body"), facts_of(header), vhost)
    if finish:
        broker.finish()


@pytest.mark.parametrize("stopped", [False, True])
def test_what_was_put_to_the_front_and_counted_is_found_there(stopped: bool) -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    arguments = {"x-queue-type": "quorum", "x-requeue-position": "front"}
    queue = broker.vhosts["/"].declare_queue("q", durable=True, arguments=arguments)
    for body in (b"a", b"b", b"c"):
        publish(broker, "q", body)
    leases = [lease for _ in range(3) if (lease := queue.get(None)) is not None]
    queue.requeue(leases[2:])
    queue.requeue(leases[:1])
    if stopped:  # then a start reads the footer, and no record
        queue.requeue(leases[1:2])
        log.close()
    write(log, disk)

    log, recovered = open_log(disk)
    assert recovered.clean is stopped
    broker = broker_on(log)
    assert start(broker, log, disk, recovered) == Restored(queues=1, messages=3, orphans=0)
    queue = broker.vhosts["/"].queues["q"]
    assert queue.get(None) is None, "it has to be read first"
    read(log, disk, broker)
    found = [lease for _ in range(3) if (lease := queue.get(None)) is not None]
    assert [lease.content.body for lease in found] == [b"c", b"a", b"b"]
    assert queue.delivery_counts is not None
    counts = [queue.delivery_counts.of(lease.sequence) for lease in found]
    assert counts == [(1, 1), (1, 1), (1, 1) if stopped else (0, 0)]
    for lease in found:
        queue.ack(lease)
    write(log, disk)

    log, recovered = open_log(disk)
    assert start(broker_on(log), log, disk, recovered).messages == 0


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("more", [{}, {"x-max-priority": 5}])
def test_what_has_to_wait_waits_on(stopped: bool, more: dict[str, int]) -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    arguments = {"x-requeue-position": "back", "x-requeue-delay": 10_000, **more}
    queue = broker.vhosts["/"].declare_queue("q", durable=True, arguments=arguments)
    for body in (b"a", b"b", b"c"):
        publish(broker, "q", body)
    for _ in range(2):
        lease = queue.get(None)
        assert lease is not None
        queue.requeue([lease])
        broker.begin(1.0, NOW_MS + 6_000)
    if stopped:
        log.close()
    write(log, disk)

    log, recovered = open_log(disk)
    broker = broker_on(log, NOW_MS + 9_000)
    assert start(broker, log, disk, recovered) == Restored(queues=1, messages=3, orphans=0)
    queue = broker.vhosts["/"].queues["q"]
    assert (queue.ready, queue.unacked, queue.unacked_bytes) == (1, 2, 2)
    write(log, disk)  # and a crash

    log, recovered = open_log(disk)
    broker = broker_on(log, NOW_MS + 11_000)
    start(broker, log, disk, recovered)
    queue = broker.vhosts["/"].queues["q"]
    assert (queue.ready, queue.unacked) == (2, 1)
    assert queue.get(None) is None, "it has to be read first"
    read(log, disk, broker, after_ms=15_990)
    assert (queue.ready, queue.unacked) == (2, 1)
    for body in (b"c", b"a"):
        lease = queue.get(None)
        assert lease is not None
        assert (lease.content.body, lease.redelivered) == (body, True)
        queue.ack(lease)
    broker.tick(1.0, NOW_MS + 16_010)
    assert (queue.ready, queue.unacked) == (1, 0)
    assert queue.get(None) is None, "it has to be read first"
    read(log, disk, broker, after_ms=16_010)
    lease = queue.get(None)
    assert lease is not None
    assert (lease.content.body, lease.redelivered, queue.unacked) == (b"b", True, 1)
    queue.ack(lease)
    assert queue.memory_bytes == 0
    write(log, disk)
    _, recovered = open_log(disk)
    assert not any(key.startswith("~") for key in recovered.definitions)


def test_counts_of_a_queue_that_is_gone_are_dropped() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    vhost = broker.vhosts["/"]
    queue = vhost.declare_queue("q", durable=True, arguments={"x-queue-type": "quorum"})
    publish(broker, "q", b"a")
    lease = queue.get(None)
    assert lease is not None
    queue.requeue([lease])
    # A crash between the two: the queue is gone, and its counts are still there.
    log.define("queue/%2F/q", None)
    write(log, disk)
    log, recovered = open_log(disk)
    assert any(key.startswith("counts/") for key in recovered.definitions)
    start(broker_on(log), log, disk, recovered)
    write(log, disk)
    _, recovered = open_log(disk)
    assert recovered.definitions == {}


def test_what_a_queue_has_seen_comes_back() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    broker.vhosts["/"].declare_queue("w", durable=True, arguments={"x-message-id-window": 5})
    publish_with_id(broker, "a")
    log.define("queue-seen/%2F/gone", encode_queue(QueueDefinition(77, "gone", False, {})))
    write(log, disk)

    log, recovered = open_log(disk)
    broker = broker_on(log)
    start(broker, log, disk, recovered)
    for message_id in "ab":
        publish_with_id(broker, message_id)
    assert broker.vhosts["/"].queues["w"].ready == 2
    write(log, disk)
    _, recovered = open_log(disk)
    assert [key for key in recovered.definitions if "seen" in key] == ["queue-seen/%2F/w"]


def publish_with_id(broker: Broker, message_id: str) -> None:
    vhost = broker.vhosts["/"]
    header = encode_header(4, Properties(delivery_mode=2, message_id=message_id))
    queues = vhost.resolve(vhost.exchanges[""], "w", header)
    enqueue(queues, Content(b"\x00\x01w", header, b"body"), facts_of(header), vhost)
    broker.finish()


def test_a_queue_of_an_earlier_version_with_an_argument_that_is_refused_now() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    wanted = QueueDefinition(7, "q", False, {"x-consumer-timeout": "a"})
    broker_on(log)
    log.define("queue/%2F/q", encode_queue(wanted))
    write(log, disk)
    log, recovered = open_log(disk)
    broker = broker_on(log)
    assert start(broker, log, disk, recovered).queues == 1
    assert broker.vhosts["/"].queues["q"].arguments == {"x-consumer-timeout": "a"}


def test_what_a_policy_should_have_cut_is_cut_at_the_start() -> None:
    """The policy was stored, and the process died before what it cut off was."""
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    vhost = broker.vhosts["/"]
    vhost.declare_queue("q", durable=True)
    for body in (b"1", b"2", b"3"):
        publish(broker, "q", body)
    write(log, disk)
    value = {"pattern": "^q$", "definition": {"max-length": 1}}
    wish = PolicyWish.parse(PolicyKind.USER, "p", value)
    log.ack = lambda *ack: None  # type: ignore[method-assign]
    vhost.policies.set(PolicyKind.USER, "p", wish)
    write(log, disk)

    log, recovered = open_log(disk)
    broker = broker_on(log)
    start(broker, log, disk, recovered)
    assert broker.vhosts["/"].queues["q"].ready == 1


def test_a_transient_message_in_a_queue_that_stores_all_outlives_its_copies() -> None:
    """The other queue has no entry in the log: what it acks must not be taken off the message."""
    disk = SimulatedDisk()
    log, _ = open_log(disk, segment_bytes=65_536)
    broker = broker_on(log)
    vhost = broker.vhosts["/"]
    stored = vhost.declare_queue("stored", durable=True, arguments={"x-queue-type": "quorum"})
    beside = vhost.declare_queue("beside", durable=True)
    for number in range(60):
        body = bytes([number]) * 8_000
        content = Content(b"\x00\x00", encode_header(len(body), Properties()), body)
        enqueue((beside, stored), content, facts_of(content.header), vhost)
        write(log, disk)
        lease = beside.get(None)
        assert lease is not None
        beside.ack(lease)
        write(log, disk)

    log, recovered = open_log(disk, segment_bytes=65_536)
    broker = broker_on(log)
    assert start(broker, log, disk, recovered).messages == 60
    queue = broker.vhosts["/"].queues["stored"]
    for number in range(60):
        if (lease := queue.get(None)) is None:
            read(log, disk, broker)
            lease = queue.get(None)
        assert lease is not None
        assert lease.content.body == bytes([number]) * 8_000
        queue.ack(lease)


def test_what_is_due_waits_until_it_is_known_what_was_seen() -> None:
    """A repetition is held by a delayed exchange, and due while the broker is down."""
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    vhost = broker.vhosts["/"]
    arguments = {"x-delayed-type": "fanout", "x-message-id-window": 2_000}
    vhost.declare_exchange("later", "x-delayed-message", durable=True, arguments=arguments)
    vhost.declare_queue("q", durable=True)
    vhost.bind("later", "q", "", destination_is_queue=True)
    for delay_ms, names in ((0, range(1_500)), (1_000, (3,))):
        for name in names:
            headers = {"x-delay": delay_ms} if delay_ms else {}
            properties = Properties(delivery_mode=2, message_id=str(name), headers=headers)
            header = encode_header(1, properties)
            queues = vhost.resolve(vhost.exchanges["later"], "", header)
            content = Content(b"\x05later\x00", header, b"x")
            assert enqueue(queues, content, facts_of(header), vhost)
    broker.finish()
    write(log, disk)

    log, recovered = open_log(disk)
    broker = broker_on(log, NOW_MS + 2_000)
    start(broker, log, disk, recovered)
    queue = broker.vhosts["/"].queues["q"]
    read(log, disk, broker, 2_000)
    held = broker.vhosts["/"].exchanges["later"].delays
    assert held is not None
    assert (queue.ready, held.ready) == (1_500, 0)


def test_windows_that_an_earlier_version_did_not_know_don_t_prevent_a_start() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker_on(log)
    bad = {"x-message-id-window": 0, "x-message-id-window-ms": "x"}
    log.define("queue/%2F/q", encode_queue(QueueDefinition(77, "q", False, bad)))
    exchange = Exchange("e", ExchangeType.FANOUT, durable=True, arguments=bad)
    log.define("exchange/%2F/e", encode_exchange(exchange))
    write(log, disk)
    log, recovered = open_log(disk)
    broker = broker_on(log)
    start(broker, log, disk, recovered)
    vhost = broker.vhosts["/"]
    assert (vhost.queues["q"].deduplication, vhost.exchanges["e"].deduplication) == (None, None)
    assert vhost.queues["q"].arguments == bad


def test_counts_of_messages_that_are_gone_are_dropped() -> None:
    disk = SimulatedDisk()
    log, _ = open_log(disk)
    broker = broker_on(log)
    queue = broker.vhosts["/"].declare_queue(
        "q", durable=True, arguments={"x-queue-type": "quorum"}
    )
    for body in (b"a", b"b"):
        publish(broker, "q", body)
    leases = [lease for _ in range(2) if (lease := queue.get(None)) is not None]
    queue.requeue(leases)
    lease = queue.get(None)
    assert lease is not None
    queue.ack(lease)  # and a crash, before anybody looked
    write(log, disk)
    log, recovered = open_log(disk)
    broker = broker_on(log)
    start(broker, log, disk, recovered)
    counts = broker.vhosts["/"].queues["q"].delivery_counts
    assert counts is not None
    assert len(counts) == 1
    assert counts.of(leases[1].sequence) == (1, 1)
