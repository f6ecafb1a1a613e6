"""A run: database, broker, producer, relays, consumer, kills by a seed, and the judgement."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import pika
import psycopg
from sqlalchemy import create_engine

from interop.effects.judgement import FAULTS_SHOWN, Done, duplicates, faults
from interop.effects.processes import Broker, Program, running_broker
from interop.effects.shop import QUEUE
from interop.effects.shop import metadata as shop_metadata
from mqkit import inbox, outbox
from mqkit.testing import PostgreSQL, postgresql

KILL_EVERY_S = (2.0, 5.0)
PRODUCED_IN = 0.8
"""The share of the time in which orders are written, so that the last ones see kills, too."""
SETTLE_WITHIN_S = 600.0
STALLED_AFTER_S = 120.0
"""Without one more effect for so long, what is missing will not come."""
LOOK_AGAIN_S = 0.5
IN_BETWEEN_WITHIN_S = 20.0
"""Longer than a program takes to start again on a machine at work."""


@dataclass(frozen=True, slots=True)
class Options:
    """So many orders, for so many seconds of kills, on the broker of that name."""

    orders: int
    seconds: float
    broker: str
    seed: int
    has_inbox: bool = True


def run(options: Options) -> int:
    """Returns the exit code, and prints figures."""
    with ExitStack() as stack:
        database = stack.enter_context(postgresql())
        if database.server is None:
            raise RuntimeError("it kills its database: unset MQKIT_TEST_POSTGRESQL_URL")
        broker = stack.enter_context(running_broker(options.broker))
        _prepare(database, broker)
        begun = time.monotonic()
        producer, others = _start(stack, options, database, broker)
        _until(lambda: _distinct_effects(database) > 0, SETTLE_WITHIN_S)
        kills = _kill_some(options, database, broker, producer, others)
        killed_s = time.monotonic() - begun
        _until(lambda: producer.code is not None, SETTLE_WITHIN_S)
        _settle(options, database)
        took_s = time.monotonic() - begun
        orders, effects = _read(database, "orders"), _read(database, "effects")
    print(
        f"killed in {killed_s:.0f} s: "
        + ", ".join(f"{name} {count}" for name, count in sorted(kills.items()))
    )
    return _report(options, orders, effects, took_s)


def _prepare(database: PostgreSQL, broker: Broker) -> None:
    engine = create_engine(database.url())
    for metadata in (shop_metadata, outbox.metadata, inbox.metadata):
        metadata.create_all(engine)
    engine.dispose()
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        connection.channel().queue_declare(QUEUE, durable=True)


def _start(
    stack: ExitStack, options: Options, database: PostgreSQL, broker: Broker
) -> tuple[Program, list[Program]]:
    def start(name: str, *words: str) -> Program:
        program = Program(name, words)
        stack.callback(program.end)
        return program

    url, sync_url, async_url = broker.url, database.url(), database.url("asyncpg")
    relay = ("interop.effects.relay", "outbox", "run", "--url", url, "--database")
    with_inbox = "inbox" if options.has_inbox else "none"
    others = [
        start("relay", *relay, sync_url),
        start("relay", *relay, async_url),
        start("consumer", "interop.effects.consumer", url, async_url, with_inbox),
    ]
    produced_s = options.seconds * PRODUCED_IN
    words = (sync_url, str(options.orders), str(produced_s), str(options.seed))
    return start("producer", "interop.effects.producer", *words), others


def _kill_some(
    options: Options,
    database: PostgreSQL,
    broker: Broker,
    producer: Program,
    others: list[Program],
) -> Counter[str]:
    """Kill one after the other, until the time is over."""
    kills: Counter[str] = Counter()
    rng = random.Random(options.seed)
    ends = time.monotonic() + options.seconds
    while (now := time.monotonic()) < ends:
        time.sleep(min(rng.uniform(*KILL_EVERY_S), ends - now))
        name = rng.choice(["relay", "relay", "consumer", "consumer", "broker", "database"])
        at_work = [other for other in others if other.name == name] or others
        chosen = rng.choice(at_work)
        chosen.in_between.clear()
        chosen.in_between.wait(IN_BETWEEN_WITHIN_S)
        if name == "broker":
            broker.kill_and_start()
        elif name == "database":
            assert database.server is not None
            database.server.kill()
            database.server.start()
        else:
            chosen.kill_and_start()
        kills[name] += 1
        for program in (producer, *others):
            if program.code:
                raise RuntimeError(f"the {program.name} ended by itself, with {program.code}")
    return kills


def _settle(options: Options, database: PostgreSQL) -> None:
    """Return when every order has its effect, or no more effects come."""
    last, since = -1, time.monotonic()
    while (count := _distinct_effects(database)) < options.orders:
        if count > last:
            last, since = count, time.monotonic()
        if time.monotonic() - since > STALLED_AFTER_S:
            return
        time.sleep(LOOK_AGAIN_S)


def _until(is_so: Callable[[], bool], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while not is_so() and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN_S)


def _connect(database: PostgreSQL) -> psycopg.Connection[tuple[int, ...]]:
    url = database.url().replace("+psycopg", "")
    return psycopg.connect(url)


def _distinct_effects(database: PostgreSQL) -> int:
    with _connect(database) as connection:
        row = connection.execute("SELECT count(DISTINCT order_id) FROM effects").fetchone()
        assert row is not None
        return row[0]


def _read(database: PostgreSQL, table: str) -> list[Done]:
    name = "id" if table == "orders" else "order_id"
    with _connect(database) as connection:
        rows = connection.execute(
            f"SELECT {name}, customer, number FROM {table} ORDER BY id".encode()
        )
        return [Done(*row) for row in rows]


def _report(options: Options, orders: list[Done], effects: list[Done], took_s: float) -> int:
    twice = duplicates(effects)
    print(
        f"{len(orders)} orders, {len(effects)} effects, {twice} of them duplicates,"
        f" in {took_s:.0f} s ({len(effects) / took_s:.0f}/s)"
    )
    if not options.has_inbox:
        if not twice:
            print("  the control has no duplicate: this run could not have seen one")
        return 0 if twice else 1
    found = faults(orders, effects)
    if len(orders) != options.orders:
        found.append(f"{len(orders)} orders were written, and {options.orders} were asked for")
    print(f"{len(found)} faults")
    for fault in found[:FAULTS_SHOWN]:
        print(f"  {fault}")
    return 1 if found else 0
