from __future__ import annotations

from mqkit.wire.methods import QueueBind, QueueDeclare
from reference_broker.simulation.plan.plans import (
    BrokerPlan,
    ChannelPlan,
    ClientPlan,
    QueuePlan,
    Scenario,
)

QUEUES = (
    QueuePlan("shared", in_fanout=True),
    QueuePlan("wait-mine", dead_letters_to="mine", ttl_ms=100, waits=True),
    QueuePlan("mine", owner=0, dead_letters_to="wait-mine", retries=True, max_priority=3),
    QueuePlan("fleeting", owner=1, durable=False, disposable=True, max_length=5),
)


def client(index: int) -> ClientPlan:
    return ClientPlan(index, (ChannelPlan(3), ChannelPlan(3)), (1, 2))


SCENARIO = Scenario(0, QUEUES, (client(0), client(1)), BrokerPlan(4_096), (1, 2), 1)


def test_a_declaration_has_the_features_as_arguments() -> None:
    assert QUEUES[2].declaration().arguments == {
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": "wait-mine",
        "x-max-priority": 3,
    }
    fleeting = QUEUES[3].declaration()
    assert fleeting.arguments == {"x-max-length": 5, "x-overflow": "drop-head"}
    assert not fleeting.durable
    assert QUEUES[1].declaration().arguments["x-message-ttl"] == 100


def test_a_disposable_queue_is_known_to_its_owner_and_to_the_drainer() -> None:
    known = [
        {method.queue for method in SCENARIO.topology(plan) if isinstance(method, QueueDeclare)}
        for plan in (client(0), client(1), SCENARIO.drainer())
    ]
    assert ["fleeting" in names for names in known] == [False, True, True]
    bound = [each for each in SCENARIO.topology(client(0)) if isinstance(each, QueueBind)]
    assert [each.queue for each in bound] == ["shared"]


def test_it_is_published_to_where_it_is_deleted() -> None:
    reached = [
        {queue for _, _, queues in SCENARIO.routes(client(1), channel) for queue in queues}
        for channel in (0, 1)
    ]
    assert reached == [{"shared", "mine", "fleeting"}, {"shared", "mine"}]


def test_expirations_stay_out_of_what_goes_round() -> None:
    assert [queue.takes_expirations for queue in QUEUES] == [True, False, False, True]


def test_the_drainer_has_every_queue_for_itself_and_refuses_nothing() -> None:
    drainer = SCENARIO.drainer()
    (channel,) = drainer.channels
    assert [taking.queue for taking in channel.consumes] == [queue.name for queue in QUEUES]
    assert all(taking.alone and not taking.no_ack for taking in channel.takes)
    assert drainer.requeue_chance == drainer.reject_chance == drainer.publish_chance == 0


def test_a_channel_sets_its_prefetches_first() -> None:
    assert len(ChannelPlan(prefetch=1).setup()) == 2
    assert len(ChannelPlan(prefetch=1, channel_prefetch=2).setup()) == 3
