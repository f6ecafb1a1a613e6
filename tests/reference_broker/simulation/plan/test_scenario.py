from __future__ import annotations

from collections import Counter

from reference_broker.core.work.budget import TURN_UNITS, UNLIMITED_UNITS
from reference_broker.runtime.net.paced_output import PORTION_BYTES
from reference_broker.simulation.disk.disk import FREE_BYTES
from reference_broker.simulation.plan.fault_profile import Fault
from reference_broker.simulation.plan.plans import Copying, Syncing
from reference_broker.simulation.plan.scenario import (
    FREE_LIMIT_BYTES,
    PAGED_SHARE,
    PAGING_MEMORY_BYTES,
    SHORT_CHANCES,
    SMALL_CHUNKS_BYTES,
    SMALL_PORTIONS_BYTES,
    TINY_TURN_UNITS,
    draw,
    with_chunks,
    with_copying,
    with_features,
    with_portions,
    with_system,
    with_turns,
)
from reference_broker.store.format.record import CHUNK_BYTES

SCENARIOS = [draw(seed) for seed in range(200)]


def test_a_seed_gives_the_same_scenario() -> None:
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)


def test_who_takes_from_a_queue_alone_is_its_owner_on_one_channel() -> None:
    for scenario in SCENARIOS:
        owners = {queue.name: queue.owner for queue in scenario.queues}
        for client in scenario.clients:
            for number, channel in enumerate(client.channels):
                for taking in channel.takes:
                    assert taking.alone == (owners[taking.queue] is not None)
                    if taking.alone:
                        assert (owners[taking.queue], number) == (client.index, 0)


def test_what_waits_is_left_alone() -> None:
    for scenario in SCENARIOS:
        waiting = {queue.name for queue in scenario.queues if queue.waits}
        for client in scenario.clients:
            for number, channel in enumerate(client.channels):
                assert not waiting & {taking.queue for taking in channel.takes}
                for _, _, queues in scenario.routes(client, number):
                    assert not waiting & set(queues)


def test_a_message_goes_round_only_where_nothing_else_ends_it() -> None:
    """Its expiry or a limit would make it die in a cycle, and a missing queue of going nowhere."""
    for scenario in SCENARIOS:
        for queue in scenario.queues:
            if queue.retries:
                assert queue.ttl_ms is queue.max_length is None
                assert queue.durable
                assert not queue.disposable


def test_dead_letters_of_two_queues_never_meet() -> None:
    for scenario in SCENARIOS:
        targets = list(scenario.dead_letters.values())
        assert len(targets) == len(set(targets))
        assert {queue.name for queue in scenario.queues} >= set(targets)


def test_there_is_always_a_queue_to_probe_the_log_with() -> None:
    for scenario in SCENARIOS:
        (queue,) = (each for each in scenario.queues if each.name == scenario.probe[1])
        assert queue.durable
        assert queue.max_length is None


def test_a_quarter_of_the_seeds_has_tiny_turns() -> None:
    units = Counter(scenario.broker.turn_units for scenario in SCENARIOS)
    print(units)
    assert units.keys() == {*TINY_TURN_UNITS, TURN_UNITS, UNLIMITED_UNITS}
    tiny = sum(units[each] for each in set(TINY_TURN_UNITS))
    assert 40 <= tiny <= 60


def test_a_tenth_of_the_seeds_pages() -> None:
    pages = [
        scenario
        for scenario in SCENARIOS
        if all(client.transient_chance == PAGED_SHARE for client in scenario.clients)
    ]
    assert 10 <= len(pages) <= 30
    assert {each.broker.memory_bytes for each in pages} == set(PAGING_MEMORY_BYTES)


def test_a_third_of_the_seeds_goes_through_the_data_folder_and_no_other_changes() -> None:
    through = [each for each in SCENARIOS if each.broker.system is not None]
    assert 50 <= len(through) <= 90
    systems = [each.broker.system for each in through if each.broker.system is not None]
    assert {each.short_chance for each in systems} == set(SHORT_CHANCES)
    assert {each.syncing for each in systems} == set(Syncing)
    for scenario in SCENARIOS:
        extra = scenario.broker.system is not None
        assert (Fault.NO_DESCRIPTORS in scenario.faults.weights) is extra
    plain = next(each for each in SCENARIOS if each.broker.system is None)
    assert with_system(plain, 0.0) == plain
    assert with_system(plain, 1.0).clients == plain.clients


def test_reads_fail_where_nothing_else_is_damaged_and_no_feature_counts_on_them() -> None:
    failing = [scenario for scenario in SCENARIOS if scenario.reads_fail]
    assert 8 <= len(failing) <= 40
    assert not any(scenario.bit_rot or scenario.features for scenario in failing)
    assert not with_features(failing[0], ["quorum"]).reads_fail


def test_a_tenth_of_the_seeds_has_small_chunks_but_not_beside_large_bodies() -> None:
    small = [each for each in SCENARIOS if each.broker.chunk_bytes < CHUNK_BYTES]
    assert 8 <= len(small) <= 45
    assert {each.broker.chunk_bytes for each in small} == set(SMALL_CHUNKS_BYTES)
    assert not any("large" in each.features for each in small)
    large = with_features(small[0], ["large"])
    assert with_chunks(large, 1.0) == large


def test_copies_are_made_in_each_way() -> None:
    ways = Counter(scenario.broker.copying for scenario in SCENARIOS)
    print(ways)
    assert ways.keys() == set(Copying)
    assert all(30 <= count <= 120 for count in ways.values())
    assert with_copying(SCENARIOS[0], (Copying.AT_ONCE,)).broker.copying is Copying.AT_ONCE


def test_half_of_the_seeds_has_a_limit_of_the_free_space_and_a_disk_that_keeps_it() -> None:
    limits = Counter(scenario.broker.disk_free_limit_bytes for scenario in SCENARIOS)
    assert limits.keys() == {0, FREE_LIMIT_BYTES}
    assert 70 <= limits[0] <= 130
    assert 0 < FREE_LIMIT_BYTES < FREE_BYTES


def test_a_quarter_of_the_seeds_has_small_portions() -> None:
    small = [each for each in SCENARIOS if each.broker.portion_bytes < PORTION_BYTES]
    assert 30 <= len(small) <= 75
    assert {each.broker.portion_bytes for each in small} == set(SMALL_PORTIONS_BYTES)
    assert with_portions(small[0], 0.0) == small[0]


def test_turns_can_be_chosen() -> None:
    assert with_turns(SCENARIOS[0], (7,)).broker.turn_units == 7


def test_seeds_differ_in_what_matters() -> None:
    seen: Counter[str] = Counter()
    for scenario in SCENARIOS:
        seen["bit rot"] += scenario.bit_rot
        seen["fanout"] += bool(scenario.fanout)
        for queue in scenario.queues:
            seen["waits"] += queue.waits
            seen["ttl"] += queue.ttl_ms is not None and not queue.waits
            seen[f"limit {queue.overflow}"] += queue.max_length is not None
            seen["priorities"] += queue.max_priority > 0
            seen["not durable"] += not queue.durable
            seen["letters that are not"] += not queue.durable and queue.name.startswith("dead-")
            seen["purged"] += queue.purged
            seen["disposable"] += queue.disposable
        for client in scenario.clients:
            seen["eager"] += client.eager
            seen["expirations"] += client.expiration_chance > 0
            seen["transient"] += client.transient_chance > 0
            seen[f"{len(client.channels)} channels"] += 1
            for channel in client.channels:
                seen["channel prefetch"] += channel.channel_prefetch > 0
                seen["no ack"] += any(taking.no_ack for taking in channel.takes)
                seen["gets"] += bool(channel.gets)
    print(seen)
    assert len(seen) == 20
    assert min(seen.values()) > 10
