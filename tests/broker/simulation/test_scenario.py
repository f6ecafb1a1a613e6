from __future__ import annotations

from mqkit.wire.methods import QueueDeclare
from reference_broker.simulation.scenario import Scenario, draw

SCENARIOS = [draw(seed) for seed in range(100)]


def test_a_seed_gives_the_same_scenario() -> None:
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)


def test_a_queue_with_an_owner_has_no_other_consumer() -> None:
    for scenario in SCENARIOS:
        for queue in scenario.queues:
            consumers = [
                (client.index, alone)
                for client in scenario.clients
                for name, alone in client.consumes
                if name == queue.name
            ]
            if queue.owner is not None:
                assert consumers == [(queue.owner, True)]
            assert all(alone == (queue.owner is not None) for _, alone in consumers)


def test_dead_letters_of_two_queues_never_meet() -> None:
    for scenario in SCENARIOS:
        targets = list(scenario.dead_letters.values())
        assert len(targets) == len(set(targets))
        assert {queue.name for queue in scenario.queues} >= set(targets)


def test_everything_that_is_declared_is_durable() -> None:
    declared = [each for each in _setup(SCENARIOS[0]) if isinstance(each, QueueDeclare)]
    assert [each.queue for each in declared] == [queue.name for queue in SCENARIOS[0].queues]
    assert all(each.durable for each in declared)


def test_the_drainer_has_every_queue_for_itself_and_refuses_nothing() -> None:
    for scenario in SCENARIOS:
        drainer = scenario.drainer()
        assert drainer.consumes == tuple((queue.name, True) for queue in scenario.queues)
        assert drainer.requeue_chance == drainer.reject_chance == drainer.publish_chance == 0


def test_seeds_differ_in_what_matters() -> None:
    clients = [client for scenario in SCENARIOS for client in scenario.clients]
    assert {client.prefetch for client in clients} == {0, 1, 3, 10}
    assert {client.eager for client in clients} == {True, False}
    assert any(scenario.fanout for scenario in SCENARIOS)
    assert any(not scenario.dead_letters for scenario in SCENARIOS)


def _setup(scenario: Scenario) -> list[object]:
    return list(scenario.setup(scenario.clients[0]))
