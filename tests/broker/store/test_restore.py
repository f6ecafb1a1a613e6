"""reference_broker.store.restore: a new broker has what the log had, and its timers run."""

from __future__ import annotations

from mqkit.wire import Properties, encode_header
from reference_broker.core.broker import Broker
from reference_broker.core.content import Content
from reference_broker.core.enqueue import enqueue
from reference_broker.core.header import facts_of
from reference_broker.core.policy import PolicyKind
from reference_broker.core.policy_validation import PolicyWish
from reference_broker.core.users import UserStore
from reference_broker.simulation.disk import SimulatedDisk
from reference_broker.store import Log, open_log
from reference_broker.store.reading import perform, take_reads
from reference_broker.store.restore import Restored, restore

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


def read(log: Log, disk: SimulatedDisk, broker: Broker) -> None:
    answers = [perform(disk, job).fetched for job in take_reads(log)]
    assert answers
    broker.fetched(answers, 0.5, NOW_MS + 1010)


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
    assert restore(broker, recovered) == Restored(queues=2, messages=2, orphans=0)
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
    restore(broker, recovered)
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
    assert restore(broker, recovered).messages == 2
    assert broker.vhosts["/"].queues["q"].lost == 1


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
    restore(broker, recovered)
    assert broker.vhosts["/"].queues["q"].ready == 1
