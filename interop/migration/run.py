"""A run: a broker, traffic, and migrations from one declaration to the next, killed by a seed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pika

from interop.migration.broker import Broker, started
from interop.migration.facts import End, Facts, counted_ids
from interop.migration.judgement import FAULTS_SHOWN, faults
from interop.migration.process import NOT_BEGUN, Process
from interop.migration.traffic import Traffic

EXCHANGE, QUEUE, TIER, LOT = "shop", "orders", "orders.wait", "orders.dead"
BINDINGS = frozenset({(EXCHANGE, "order.#"), (EXCHANGE, "*.urgent")})
KEYS = ["order.new", "order.urgent", "mail.urgent"]
"""The second one fits both bindings."""
TIER_MS = 300
BACKLOG = 250
"""Messages that come all at once before each migration, so that moves take a while."""
SETTLE_WITHIN_S = 60.0
LOOK_AGAIN_S = 0.1

STEPS = (
    *("declare", "gate", "unbind", "fetch", "divert", "empty", "replace", "release", "return"),
    *("revert", "follow", "bind", "ungate", "remove"),
)
SHARE_AT_STEPS, SHARE_BEGUN = 0.6, 0.95
"""Kills of that share wait for a random step, those up to the next one for any, the rest for
nothing."""
UNIFORM_S = 3.0
"""A kill that waits for no certain step comes within so long."""
AFTER_STEP_S = 0.03
"""A kill that waits for a step comes within so long of its beginning."""
KILLS_MAX = 7
"""Of one migration."""

KINDS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "plain": ("", {}),
    "quorum": ("type: quorum", {"x-queue-type": "quorum"}),
    "limited": (
        f'max_length: 100000, overflow: drop-head, dead_letter: {{exchange: "", key: {LOT}}}',
        {
            "x-max-length": 100_000,
            "x-overflow": "drop-head",
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": LOT,
        },
    ),
    "rejecting": (
        "max_length: 100000, overflow: reject-publish",
        {"x-max-length": 100_000, "x-overflow": "reject-publish"},
    ),
}
"""The declarations of the queue, as the file says them and as the broker has them."""


@dataclass(frozen=True, slots=True)
class Options:
    """The broker by its name, the number of kills and the time for them, the seed, and a folder for
    topology and journal."""

    broker: str
    kills: int
    seconds: float
    seed: int
    folder: Path


def run(options: Options) -> int:
    """Returns the exit code, and prints figures."""
    facts = Facts()
    rng = random.Random(options.seed)
    with started(options.broker) as broker:
        _declare(broker)
        traffic = Traffic(broker.url, EXCHANGE, KEYS, QUEUE, TIER)
        traffic.start(facts, publishers=2, consumers=2)
        try:
            kind = "plain"
            until = time.monotonic() + options.seconds
            while not facts.ends or (
                facts.kills.total() < options.kills and time.monotonic() < until
            ):
                kind = _migrate(broker, options, facts, rng, kind)
        finally:
            traffic.end_publishing()
            _until(lambda: _is_handled(facts), SETTLE_WITHIN_S)
            if not _is_handled(facts):
                facts.unexpected.append(f"at the end: {broker.state(QUEUE)}")
            traffic.end()
    journal = _journal(options.folder)
    if journal.exists():
        facts.counted.update(counted_ids(journal.read_text().splitlines()))
    return _report(facts)


def _declare(broker: Broker) -> None:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.exchange_declare(EXCHANGE, "topic", durable=True)
        for queue in (QUEUE, LOT):
            channel.queue_declare(queue, durable=True)
        for _, key in BINDINGS:
            channel.queue_bind(QUEUE, EXCHANGE, key)
        back = {
            "x-message-ttl": TIER_MS,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": QUEUE,
        }
        channel.queue_declare(TIER, durable=True, arguments=back)


def _migrate(
    broker: Broker, options: Options, facts: Facts, rng: random.Random, before: str
) -> str:
    """One migration, killed some times, to its end; returns the declaration that it came to."""
    after = rng.choice([kind for kind in KINDS if kind != before])
    _publish_backlog(broker, facts)
    topology = _topology(options.folder, after)
    kills = min(rng.randint(1, KILLS_MAX), max(0, options.kills - facts.kills.total()))
    flags: tuple[str, ...] = ()
    is_begun = False
    for number in range(kills):
        process = Process(broker, topology, QUEUE, *flags)
        step = _killed(process, rng)
        if not step:
            break  # it was faster
        facts.kills[step] += 1
        is_begun = is_begun or step in STEPS
        if is_begun and not flags and number and rng.random() < 0.15:
            flags = ("--abort",)
            facts.aborts += 1
    title = f"migration {len(facts.ends) + 1}, {before} to {after}{' --abort' if flags else ''}"
    code = 0
    if _is_under_way(options.folder) or not flags:
        process = Process(broker, topology, QUEUE, *flags)
        code = process.end()
        if code:
            title += f" ({process.said.strip()})"
    came_to = before if flags else after
    facts.ends.append(_end(broker, title, came_to, code))
    return came_to


def _publish_backlog(broker: Broker, facts: Facts) -> None:
    ids = [f"b{len(facts.ends)}-{number}" for number in range(BACKLOG)]
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.tx_select()
        for message_id in ids:
            properties = pika.BasicProperties(message_id=message_id, delivery_mode=2)
            channel.basic_publish(EXCHANGE, KEYS[0], b"{}", properties)
        channel.tx_commit()
    with facts.lock:
        facts.published += ids


def _killed(process: Process, rng: random.Random) -> str:
    """Kill it right after the beginning of a random step, or at any moment; returns the step, or
    nothing if it had done its work already."""
    how = rng.random()
    if how < SHARE_AT_STEPS:
        process.wait_for(rng.choice(STEPS), SETTLE_WITHIN_S)
        time.sleep(rng.random() * AFTER_STEP_S)
    else:
        if how < SHARE_BEGUN:
            process.wait_until_begun(SETTLE_WITHIN_S)
        time.sleep(rng.random() * UNIFORM_S)
    step = process.kill()
    return step if step in (*STEPS, NOT_BEGUN) else ""


def _topology(folder: Path, kind: str) -> Path:
    topology = folder / "topology.yaml"
    said = f"{KINDS[kind][0]}, " if KINDS[kind][0] else ""
    bindings = ", ".join(f'{{from: {source}, key: "{key}"}}' for source, key in sorted(BINDINGS))
    topology.write_text(
        f"exchanges: {{{EXCHANGE}: {{external: true}}}}\n"
        f"queues:\n  {LOT}: {{external: true}}\n"
        f"  {QUEUE}: {{{said}bind: [{bindings}]}}\n"
    )
    return topology


def _journal(folder: Path) -> Path:
    return folder / f"topology.{QUEUE}.migration.jsonl"


def _is_under_way(folder: Path) -> bool:
    """True if the journal does not end with the end of its last step."""
    lines = _journal(folder).read_text().splitlines() if _journal(folder).exists() else []
    return bool(lines) and '"step":"remove","event":"done"' not in lines[-1]


def _end(broker: Broker, title: str, kind: str, code: int) -> End:
    return End(
        title,
        _known(broker.arguments(QUEUE)),
        KINDS[kind][1],
        broker.bindings(QUEUE),
        BINDINGS,
        tuple(sorted({name for name in broker.names() if ".migrating" in name})),
        code,
    )


def _known(arguments: dict[str, Any]) -> dict[str, Any]:
    """Without the type that some versions write out by themselves."""
    return {key: value for key, value in arguments.items() if value != "classic"}


def _is_handled(facts: Facts) -> bool:
    with facts.lock:
        return all(facts.handled[message_id] for message_id in facts.published)


def _until(is_so: Callable[[], bool], within_s: float) -> None:
    """Return when it is so, or the time is over: then the judgement says what is missing."""
    deadline = time.monotonic() + within_s
    while not is_so() and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN_S)


def _report(facts: Facts) -> int:
    found = faults(facts)
    twice = sum(times > 1 for times in facts.handled.values())
    print(
        f"{len(facts.published)} messages, {facts.retried} of them by the tier;"
        f" {len(facts.ends)} migrations ({facts.aborts} aborted),"
        f" killed {facts.kills.total()} times: {twice} handled twice"
        f" ({facts.counted.total()} counted), {len(found)} faults"
    )
    if facts.internal_errors:
        print(f"the broker closed {facts.internal_errors} connections of consumers with 541")
    print("kills:", ", ".join(f"{step} {facts.kills[step]}" for step in sorted(facts.kills)))
    for fault in found[:FAULTS_SHOWN]:
        print(f"  {fault}")
    return 1 if found else 0
