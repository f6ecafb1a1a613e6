"""A run: a broker, a worker that fails everything, three processes, kills by a seed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pika

from interop.archives.file import read
from interop.archives.octets import parts_of
from interop.chaos.broker import Broker, started
from interop.leaders.facts import Facts
from interop.leaders.judgement import FAULTS_SHOWN, faults
from interop.leaders.leader import Leader
from interop.leaders.worker import Worker

PROCESSES = 3
EVERY_S = 1
AT_MOST = 3
AFTER_S = 10
"""Longer than a lot can be without a leader (5 s), so that all replays come before it."""
LEADER_WITHIN_S = 60.0
WINDOW_WITHIN_S = 30.0
SETTLE_WITHIN_S = 180.0
LOOK_AGAIN_S = 0.05
KILL_DELAY_S = 0.01
"""Kills come up to so much after a window has begun, when it is published or acked."""
QUEUE, LOT = "email", "email.parked"


@dataclass(frozen=True, slots=True)
class Options:
    """The broker by its name, the number of kills, the seed, and a folder for topology and
    archives."""

    broker: str
    kills: int
    seed: int
    folder: Path


def run(options: Options) -> int:
    """Returns the exit code, and prints figures."""
    facts = Facts()
    with started(options.broker) as broker:
        topology = _declare(broker, options.folder)
        leaders = [Leader(topology, broker.url) for _ in range(PROCESSES)]
        try:
            worker = Worker(broker.url, QUEUE, LOT, facts)
            worker.start()
            rng = random.Random(options.seed)
            for _ in range(options.kills):
                _kill(leaders, facts, rng)
                leaders.append(Leader(topology, broker.url))
            worker.end_publishing()
            _until(
                lambda: _depth(broker) == 0 and _is_archived(options.folder, facts),
                SETTLE_WITHIN_S,
            )
            worker.end()
        finally:
            codes = _end(leaders, facts)
        facts.left = _depth(broker)
    facts.archived.update(_archived_ids(options.folder))
    return _report(facts, codes)


def _declare(broker: Broker, folder: Path) -> Path:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare(LOT, durable=True)
        to_lot = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": LOT}
        channel.queue_declare(QUEUE, durable=True, arguments=to_lot)
    topology = folder / "topology.yaml"
    to = folder / "archive" / "{queue}-{date}.jsonl.gz"
    to.parent.mkdir()
    topology.write_text(
        f"queues: {{{LOT}: {{external: true}}, {QUEUE}: {{external: true}}}}\n"
        f"lots:\n  {LOT}:\n"
        f"    replay: {{every: {EVERY_S}s, at_most: {AT_MOST}}}\n"
        f"    archive: {{after: {AFTER_S}s, to: '{to}'}}\n"
    )
    return topology


def _kill(leaders: list[Leader], facts: Facts, rng: random.Random) -> None:
    """Kill the process that leads, shortly after it has begun a window."""
    _until(lambda: any(one.is_leading for one in leaders), LEADER_WITHIN_S)
    leader = next(one for one in leaders if one.is_leading)
    for _ in range(rng.randint(1, 3)):
        leader.has_begun.clear()
        leader.has_begun.wait(WINDOW_WITHIN_S)
    time.sleep(rng.random() * KILL_DELAY_S)
    facts.under_way.update(leader.kill())
    facts.kills += 1
    leaders.remove(leader)


def _end(leaders: list[Leader], facts: Facts) -> list[int]:
    codes = []
    for leader in leaders:
        code, under_way = leader.end()
        facts.under_way.update(under_way)
        codes.append(code)
    return codes


def _depth(broker: Broker) -> int:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        states = [channel.queue_declare(name, passive=True) for name in (QUEUE, LOT)]
        return sum(int(state.method.message_count) for state in states)


def _archived_ids(folder: Path) -> list[str]:
    """The messages of all files, those of killed leaders and of the one at work included."""
    found: list[str] = []
    for path in sorted((folder / "archive").iterdir()):
        try:
            of_file = [parts_of(octets)[0]["message_id"] for octets, _ in read(path)]
        except FileNotFoundError:  # it has got its name meanwhile
            continue
        found += (each[1:].decode() for each in of_file)
    return found


def _is_archived(folder: Path, facts: Facts) -> bool:
    return set(facts.published) <= set(_archived_ids(folder))


def _until(is_so: Callable[[], bool], within_s: float) -> None:
    """Return when it is so, or the time is over: then the judgement says what is missing."""
    deadline = time.monotonic() + within_s
    while not is_so() and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN_S)


def _report(facts: Facts, codes: list[int]) -> int:
    found = faults(facts, EVERY_S, AT_MOST)
    found += [f"a process ended with {code} at SIGTERM" for code in codes if code]
    returns = sum(arrival.replays > 0 for arrival in facts.arrivals)
    twice = sum(times > 1 for times in facts.archived.values())
    print(
        f"{len(facts.published)} messages, {facts.kills} leaders killed:"
        f" {returns} went back, {len(facts.archived)} archived ({twice} of them twice),"
        f" {len(facts.under_way)} were under way at a kill, {len(found)} faults"
    )
    for fault in found[:FAULTS_SHOWN]:
        print(f"  {fault}")
    return 1 if found else 0
