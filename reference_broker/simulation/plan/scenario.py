"""Drawing a scenario from a seed: the queues, the clients and the faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from reference_broker.core.base.limits import MIB
from reference_broker.core.work.budget import TURN_UNITS, UNLIMITED_UNITS
from reference_broker.simulation.plan.fault_profile import profile_of, with_calls
from reference_broker.simulation.plan.feature_names import DRAWN_APART, DRAWN_TOGETHER, vhost_of
from reference_broker.simulation.plan.plans import (
    BrokerPlan,
    ChannelPlan,
    ClientPlan,
    Consume,
    Copying,
    QueuePlan,
    Scenario,
    Syncing,
    SystemPlan,
)

DURATION_US = 60_000_000
"""Microseconds of virtual time in which faults and clients are at work."""

BIT_ROT_CHANCE = 0.25
"""Share of the seeds that have a bit flipped."""

READS_FAIL_CHANCE = 0.6
"""Share of the seeds without a flipped bit and without features in which reads fail for a while."""

TINY_TURN_CHANCE = 0.25
"""Share of the seeds in which a turn is over after a few messages."""

TINY_TURN_UNITS = (1, 1, 2, 5, 12, 50)
"""Units of such a turn. The clients ask for little: with more, nothing is left over."""

DECLARES_ONCE_CHANCE = 0.6
"""Share of the seeds, of those without a flipped bit, whose clients do not declare anything durable
twice: what is lost, or back, is not covered up by them."""

CLOCK_IS_SET_CHANCE = 0.2
"""Share of the seeds in which the clock of the broker's machine is set."""

PAGING_CHANCE = 0.1
"""Share of the seeds whose broker pages."""

PAGED_SHARE = 0.7
PAGING_MEMORY_BYTES = (160_000, 250_000, 350_000)
"""Memory watermarks of such a broker: with less, publishers are blocked before there is much."""

TRANSIENT_LETTERS_CHANCE = 0.3
"""Share of the queues for dead letters that are not durable."""

SMALL_CHUNKS_CHANCE = 0.12
"""Share of the seeds whose log has small chunks."""

SMALL_CHUNKS_BYTES = (90, 400, 2_000)

APART_CHANCE = 0.12
"""Share of the seeds without a flipped bit that have a feature which is drawn apart."""

SYSTEM_CHANCE = 0.35
"""Share of the seeds whose broker has its disk through the runtime's data folder."""

SHORT_CHANCES = (0.0, 0.05, 0.3)
"""Of a read or a write there."""

COPYING = (Copying.BY_STEP, Copying.BY_STEP, Copying.AT_ONCE, Copying.SLOWLY)
"""Ways to copy a segment, as often as each."""

FREE_LIMIT_CHANCE = 0.5
"""Share of the seeds whose broker blocks publishers before the disk is full."""

FREE_LIMIT_BYTES = 50 * MIB

SMALL_PORTIONS_CHANCE = 0.25
"""Share of the seeds whose sockets are written and read in small portions."""

SMALL_PORTIONS_BYTES = (60, 500, 3_000)

_DEAD = "dead-"
_SHARED_QUEUES_MAX = 2
_CLIENTS = (2, 4)
_FEATURES = (0, 1, 1, 1, 2)
_TTL_MS = (300, 8_000)
_WAIT_MS = (100, 3_000)
_MAX_LENGTH = (3, 40)
_RUN_CHANCES = (0.0, 0.0, 0.4)


def draw(seed: int, duration_us: int = DURATION_US) -> Scenario:
    """The scenario of a seed."""
    random = Random(f"scenario/{seed}")
    count = random.randint(*_CLIENTS)
    queues: list[QueuePlan] = []
    for number in range(random.randint(1, _SHARED_QUEUES_MAX)):
        queues += _queues(random, f"shared-{number}", None)
    for owner in range(random.randint(1, count)):
        queues += _queues(random, f"solo-{owner}", owner)
    scenario = Scenario(
        seed=seed,
        queues=tuple(queues),
        clients=tuple(_client(random, index, queues) for index in range(count)),
        broker=_broker(random),
        fault_pause_us=random.choice(((400_000, 6_000_000), (2_000_000, 20_000_000))),
        duration_us=duration_us,
        faults=profile_of(seed),
        bit_rot=random.random() < BIT_ROT_CHANCE,
    )
    scenario = with_transient_letters(with_turns(with_paging(with_runs(scenario))))
    scenario = with_portions(with_free_limit(with_copying(with_system(scenario))))
    once = Random(f"declarations/{seed}").random() < DECLARES_ONCE_CHANCE
    # Where a bit is flipped, a definition may be what it damages.
    scenario = replace(scenario, declares_once=once and not scenario.bit_rot)
    # Where a bit is flipped there are no features: what it damages may be what they count on.
    features = [] if scenario.bit_rot else _features(seed)
    clock_is_set = Random(f"clock/{seed}").random() < CLOCK_IS_SET_CHANCE
    scenario = replace(scenario, clock_is_set=clock_is_set)
    reads_fail = Random(f"reads/{seed}").random() < READS_FAIL_CHANCE
    reads_fail = reads_fail and not scenario.bit_rot and not features
    return with_chunks(replace(with_features(scenario, features), reads_fail=reads_fail))


def with_features(scenario: Scenario, names: Sequence[str]) -> Scenario:
    """The scenario with these features at work in it, and no others."""
    vhosts = tuple(vhost_of(name) for name in names)
    broker = replace(scenario.broker, vhosts=vhosts)
    return replace(scenario, features=tuple(names), broker=broker, reads_fail=False)


def with_runs(scenario: Scenario, chances: Sequence[float] = _RUN_CHANCES) -> Scenario:
    """The scenario with clients that publish and ack in runs, as often as one of ``chances``."""
    random = Random(f"runs/{scenario.seed}")
    clients = [replace(client, run_chance=random.choice(chances)) for client in scenario.clients]
    return replace(scenario, clients=tuple(clients))


def with_turns(scenario: Scenario, units: Sequence[int] = ()) -> Scenario:
    """The scenario with a broker whose turns have one of ``units``; without any, as the seed has
    it: few in :data:`TINY_TURN_CHANCE` of all, and otherwise a real turn's or no end of them."""
    random = Random(f"turns/{scenario.seed}")
    tiny = random.random() < TINY_TURN_CHANCE
    drawn = random.choice(units or (TINY_TURN_UNITS if tiny else (TURN_UNITS, UNLIMITED_UNITS)))
    return replace(scenario, broker=replace(scenario.broker, turn_units=drawn))


def with_paging(scenario: Scenario, chance: float = PAGING_CHANCE) -> Scenario:
    """With that ``chance``, as the seed has it, the scenario with clients that publish much that is
    not for the log, and a memory so short that most of it is paged."""
    random = Random(f"paging/{scenario.seed}")
    if random.random() >= chance:
        return scenario
    clients = tuple(replace(each, transient_chance=PAGED_SHARE) for each in scenario.clients)
    broker = replace(scenario.broker, memory_bytes=random.choice(PAGING_MEMORY_BYTES))
    return replace(scenario, clients=clients, broker=broker)


def with_chunks(scenario: Scenario, chance: float = SMALL_CHUNKS_CHANCE) -> Scenario:
    """With that ``chance``, as the seed has it, the scenario with a log that has most bodies in
    chunks. Not beside the feature whose bodies are large as it is."""
    random = Random(f"chunks/{scenario.seed}")
    if random.random() >= chance or "large" in scenario.features:
        return scenario
    broker = replace(scenario.broker, chunk_bytes=random.choice(SMALL_CHUNKS_BYTES))
    return replace(scenario, broker=broker)


def with_transient_letters(scenario: Scenario) -> Scenario:
    """The scenario with some queues for dead letters that are not durable, as the seed has it."""
    random = Random(f"letters/{scenario.seed}")
    queues = [
        replace(queue, durable=False)
        if queue.name.startswith(_DEAD) and random.random() < TRANSIENT_LETTERS_CHANCE
        else queue
        for queue in scenario.queues
    ]
    return replace(scenario, queues=tuple(queues))


def with_system(scenario: Scenario, chance: float = SYSTEM_CHANCE) -> Scenario:
    """With that ``chance``, as the seed has it, the scenario with the runtime's data folder, the
    faults of its calls, and one way of all to choose the loop's batches."""
    random = Random(f"system/{scenario.seed}")
    if random.random() >= chance:
        return scenario
    system = SystemPlan(random.choice(SHORT_CHANCES), random.choice(list(Syncing)))
    broker = replace(scenario.broker, system=system)
    return replace(scenario, broker=broker, faults=with_calls(scenario.faults))


def with_copying(scenario: Scenario, ways: Sequence[Copying] = COPYING) -> Scenario:
    """The scenario with a broker that copies segments in one of ``ways``, as the seed has it."""
    copying = Random(f"copying/{scenario.seed}").choice(ways)
    return replace(scenario, broker=replace(scenario.broker, copying=copying))


def with_free_limit(scenario: Scenario, chance: float = FREE_LIMIT_CHANCE) -> Scenario:
    """With that ``chance``, as the seed has it, the scenario with a broker that has its disk's free
    space looked at."""
    has_limit = Random(f"free limit/{scenario.seed}").random() < chance
    limit_bytes = FREE_LIMIT_BYTES if has_limit else 0
    return replace(scenario, broker=replace(scenario.broker, disk_free_limit_bytes=limit_bytes))


def with_portions(scenario: Scenario, chance: float = SMALL_PORTIONS_CHANCE) -> Scenario:
    """With that ``chance``, as the seed has it, the scenario with sockets that are written and read
    in small portions."""
    random = Random(f"portions/{scenario.seed}")
    if random.random() >= chance:
        return scenario
    broker = replace(scenario.broker, portion_bytes=random.choice(SMALL_PORTIONS_BYTES))
    return replace(scenario, broker=broker)


def _features(seed: int) -> list[str]:
    random = Random(f"features/{seed}")
    names = random.sample(DRAWN_TOGETHER, random.choice(_FEATURES))
    apart = [name for name in DRAWN_APART if Random(f"{name}/{seed}").random() < APART_CHANCE]
    return names + apart


def _broker(random: Random) -> BrokerPlan:
    """Settings of the broker, with windows of one to a dozen small messages."""
    return BrokerPlan(
        segment_bytes=random.choice((8_192, 16_384, 65_536)),
        window_bytes=random.choice((600, 2_000, 8_000)),
        memory_bytes=random.choice((1_024 * MIB, 1_024 * MIB, 350_000, 150_000)),
    )


def _queues(random: Random, name: str, owner: int | None) -> list[QueuePlan]:
    """A queue, and the one for its dead letters if it has any: one of its own, since a message
    that a fanout put into two queues may die twice. The first queue can be the scenario's
    :attr:`~Scenario.probe`."""
    probe = name == "shared-0"
    dead = random.choice(("", "", "dead", "retry"))
    durable = dead == "retry" or probe or random.random() < 0.85
    disposable = owner is not None and dead != "retry" and random.random() < 0.35
    purged = owner is not None and not disposable and random.random() < 0.35
    ttl_ms = random.randint(*_TTL_MS) if random.random() < 0.2 else None
    max_length = random.randint(*_MAX_LENGTH) if random.random() < 0.2 else None
    queue = QueuePlan(
        name=name,
        owner=owner,
        dead_letters_to=f"{dead}-{name}" if dead else None,
        in_fanout=random.random() < 0.5 and not disposable,
        durable=durable,
        ttl_ms=None if dead == "retry" else ttl_ms,
        max_length=None if dead == "retry" or probe else max_length,
        overflow=random.choice(("drop-head", "drop-head", "reject-publish")),
        max_priority=random.choice((0, 0, 0, 3, 9)),
        retries=dead == "retry",
        purged=purged,
        disposable=disposable,
    )
    if not dead:
        return [queue]
    if dead == "dead":
        return [QueuePlan(f"{_DEAD}{name}"), queue]
    wait_ms = random.randint(*_WAIT_MS)
    waiting = QueuePlan(f"retry-{name}", dead_letters_to=name, ttl_ms=wait_ms, waits=True)
    return [waiting, queue]


def _client(random: Random, index: int, queues: list[QueuePlan]) -> ClientPlan:
    fastest_us = random.choice((80_000, 200_000, 600_000))
    return ClientPlan(
        index=index,
        channels=_channels(random, index, queues),
        pause_us=(fastest_us, 4 * fastest_us),
        publish_chance=random.uniform(0.2, 0.6),
        batch_max=random.choice((1, 3, 10)),
        transient_chance=random.choice((0.0, 0.1)),
        expiration_chance=random.choice((0.0, 0.0, 0.1)),
        requeue_chance=random.uniform(0.0, 0.3),
        reject_chance=random.uniform(0.0, 0.4),
        get_chance=random.choice((0.0, 0.1)),
        renew_chance=random.choice((0.0, 0.02)),
        removal_chance=random.choice((0.02, 0.1)),
        frame_max=random.choice((4_096, 131_072)),
        eager=random.random() < 0.5,
    )


def _channels(random: Random, index: int, queues: list[QueuePlan]) -> tuple[ChannelPlan, ...]:
    """One to three channels. The queues that only this client takes from are all on the first:
    nobody else, and none of its own channels, may come in between."""
    solo = [queue.name for queue in queues if queue.owner == index]
    shared = [queue.name for queue in queues if queue.owner is None and not queue.waits]
    channels = []
    for number in range(random.choice((1, 1, 2, 3))):
        consumes = [_taking(random, name, False) for name in shared if random.random() < 0.5]
        gets = [_taking(random, name, False) for name in shared if random.random() < 0.3]
        if number == 0:
            alone = [_taking(random, name, True) for name in solo]
            consumes = alone + consumes
            gets += alone
        channels.append(
            ChannelPlan(
                prefetch=random.choice((1, 3, 10, 0)),
                channel_prefetch=random.choice((0, 0, 2, 8)),
                consumes=tuple(consumes),
                gets=tuple(gets),
            )
        )
    return tuple(channels)


def _taking(random: Random, queue: str, alone: bool) -> Consume:
    return Consume(queue, alone, no_ack=random.random() < 0.15)
