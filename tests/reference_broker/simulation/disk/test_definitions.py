"""definitions: what a broker has defined, and what its log says of that."""

from __future__ import annotations

from random import Random

from mqkit.wire.methods import ExchangeBind, ExchangeDeclare, QueueBind, QueueDeclare, QueueDelete
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.simulation.disk import definitions as read
from reference_broker.simulation.disk import inspection
from reference_broker.simulation.disk.disk import SimulatedDisk
from reference_broker.simulation.events import definitions
from reference_broker.store import Log, open_log
from reference_broker.testing.lone_broker import LoneBroker

DECLARATIONS = [
    ExchangeDeclare("e", "topic", durable=True),
    ExchangeDeclare("f", "fanout", durable=True, arguments={"a": 1}),
    QueueDeclare("q", durable=True, arguments={"x-max-length": 3}),
    QueueDeclare("gone", durable=True),
    QueueDeclare("t"),
    QueueDeclare("mine", exclusive=True),
    QueueBind("q", "e", "key"),
    QueueBind("t", "e", "key"),
    ExchangeBind("f", "e"),
    QueueDelete("gone"),
]


def sync(log: Log, disk: SimulatedDisk, lone: LoneBroker) -> None:
    while (batch := log.take_batch()) is not None:
        for operation in batch.operations:
            disk.perform(operation)
        log.batch_synced(batch)
    lone.broker.synced(log.synced, lone.now_s, lone.wall_ms)


def test_all_that_was_declared_is_read_and_what_is_durable_is_in_the_log() -> None:
    disk = SimulatedDisk(Random(0))
    log, _ = open_log(disk, segment_bytes=4_096)
    lone = LoneBroker(log)
    broker, client = lone.broker, lone.client()
    for method in DECLARATIONS:
        client.send(1, method)
        sync(log, disk, lone)
    value = {"pattern": "^q", "definition": {"max-length": 1}}
    wish = PolicyWish.parse(PolicyKind.USER, "p", value)
    broker.begin(lone.now_s, lone.wall_ms)
    broker.vhosts["/"].policies.set(PolicyKind.USER, "p", wish)
    broker.finish()
    sync(log, disk, lone)
    durable = [
        definitions.exchange("e", "topic", {}, durable=True),
        definitions.exchange("f", "fanout", {"a": 1}, durable=True),
        definitions.queue("q", {"x-max-length": 3}, durable=True),
        definitions.binding("e", ("queue", "q"), "key", {}),
        definitions.binding("e", ("exchange", "f"), "", {}),
        definitions.policy("p", "^q", {"max-length": 1}),
    ]
    transient = [
        definitions.queue("t", {}, durable=False),
        definitions.queue("mine", {}, durable=False),
        definitions.binding("e", ("queue", "t"), "key", {})._replace(durable=False),
    ]
    assert read.of_vhost(broker.vhosts["/"]) == {each.key: each for each in durable + transient}
    ours = {("/", *each.key): each for each in durable}
    assert read.durable_of(broker) == ours
    for trusted in (True, False):
        logged = inspection.rebuilt(disk, trust_footers=trusted).definitions
        assert read.logged_of(broker, logged) == ours


def test_the_log_has_the_queues_that_a_start_would_find() -> None:
    disk = SimulatedDisk(Random(0))
    log, _ = open_log(disk, segment_bytes=4_096)
    lone = LoneBroker(log)
    client = lone.client()
    window = {"x-message-id-window": 9}
    for method in (*DECLARATIONS, QueueDeclare("w", durable=True, arguments=window)):
        client.send(1, method)
        sync(log, disk, lone)
    queues = lone.broker.vhosts["/"].queues
    inner = queues["w"].deduplication
    assert inner is not None
    there = {queues["q"].id, queues["w"].id, inner.queue.id}
    assert read.logged_queue_ids(lone.broker) == there
