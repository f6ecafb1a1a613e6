"""Recovery of a virtual host from its definitions, in an order in which each finds the rest."""

from __future__ import annotations

from mqkit.wire import Properties
from mqkit.wire.methods import BasicGet, BasicReject, QueueDeclare
from reference_broker.core.base.ids import Ids
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.testing.lone_broker import LoneBroker
from reference_broker.testing.recording_journal import RecordingJournal


def make(name: str, epoch: int) -> VHost:
    journal = RecordingJournal(epoch)
    return VHost(name, VHostParts(journal, Ids(journal.epoch)))


def definitions_of(*vhosts: VHost) -> dict[str, bytes]:
    """The definitions that the journals of these hold, as the last writes have left them."""
    found: dict[str, bytes] = {}
    for vhost in vhosts:
        assert isinstance(vhost.journal, RecordingJournal)
        for verb, *rest in vhost.journal.records:
            if verb == "define":
                key, value = rest
                found.pop(key, None)
                if value is not None:
                    found[key] = value
    return found


def restored(name: str, definitions: dict[str, bytes]) -> VHost:
    vhost = make(name, 2)
    vhost.restore(definitions)
    return vhost


def test_each_virtual_host_takes_up_its_own() -> None:
    one, two = make("one", 1), make("two", 1)
    one.declare_queue("q", durable=True)
    two.declare_exchange("x", "fanout", durable=True)
    definitions = definitions_of(one, two)
    assert list(restored("one", definitions).queues) == ["q"]
    assert "x" not in restored("one", definitions).exchanges
    assert "x" in restored("two", definitions).exchanges


def test_queues_and_exchanges_have_their_policies_from_the_first_moment() -> None:
    before = make("/", 1)
    before.declare_queue("q", durable=True)
    before.declare_exchange("x", "fanout", durable=True)
    definition = {"max-length": 3, "alternate-exchange": "amq.fanout"}
    wish = PolicyWish.parse(PolicyKind.USER, "p", {"pattern": "", "definition": definition})
    other = make("/", 1)
    other.policies.set(PolicyKind.USER, "p", wish)
    after = restored("/", definitions_of(before, other))
    assert after.queues["q"].limits.max_length == 3
    assert after.exchanges["x"].alternate == "amq.fanout"


def test_counts_of_deliveries_find_their_queue() -> None:
    lone = LoneBroker(RecordingJournal())
    client = lone.client()
    arguments = {"x-queue-type": "quorum"}
    client.send(1, QueueDeclare("q", durable=True, arguments=arguments))
    lone.sync()
    client.publish("q", properties=Properties(delivery_mode=2))
    client.send(1, BasicGet("q"), BasicReject(1, requeue=True))
    lone.sync()
    after = restored("/", definitions_of(lone.broker.vhosts["/"]))
    counts = after.queues["q"].delivery_counts
    assert counts is not None
    assert len(counts) == 1
