"""``kill -9`` of the broker while four publishers and four consumers run, again and again.

What must hold after every restart:

* no confirmed message is missing: its ack was sent, or it is delivered again;
* no message whose ack was synced comes back at all. An ack is known to be synced when a publish
  that was sent after it on the same channel is confirmed: one log, one order;
* what was delivered before the kill and comes back is marked redelivered.

Rounds end after a number of confirms drawn from the seed, not after a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import aio_pika
import aiormq
import pytest
from aio_pika.abc import AbstractIncomingMessage

from interop.elsewhere.cluster import CLIENTS, queues_elsewhere
from mqkit.testing import Cluster

ROUNDS = int(os.environ.get("MQKIT_KILL_ROUNDS", "20"))
SEED = int(os.environ.get("MQKIT_KILL_SEED", "20261120"))
PUBLISHERS = CONSUMERS = 4
PIPELINE = 25
QUEUES = ("kill.0", "kill.1")
MARKERS = "kill.markers"
START_TIMEOUT_S = 30
WAIT_S = 30
LOST = (aiormq.exceptions.AMQPError, ConnectionError, asyncio.TimeoutError, RuntimeError)


@dataclass
class Evidence:
    """The observations of clients, over all rounds."""

    confirmed: set[str] = field(default_factory=set)
    delivered: set[str] = field(default_factory=set)
    acked: set[str] = field(default_factory=set)
    synced_acks: set[str] = field(default_factory=set)
    came_back: int = 0
    violations: list[str] = field(default_factory=list)
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    target: int = 0

    def on_confirmed(self, message_id: str) -> None:
        self.confirmed.add(message_id)
        if len(self.confirmed) >= self.target:
            self.enough.set()

    def on_delivered(self, message_id: str, redelivered: bool) -> None:
        if message_id in self.synced_acks:
            self.violations.append(f"{message_id}: its ack was synced, and it came back")
        if message_id in self.delivered:
            self.came_back += 1
            if not redelivered:
                self.violations.append(f"{message_id}: delivered before, and not marked")
        self.delivered.add(message_id)


class Killed(Protocol):
    """A broker that can be killed and started again."""

    def start(self) -> str:
        """Start it, unless it runs; its AMQP URL."""
        ...

    def kill(self) -> None: ...


class Broker:
    """The broker as a process that can be killed and started again on its data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._command = [sys.executable, "-m", "mqkit_cli", "broker", "run"]
        self._command += ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        self._command += ["--data-dir", str(data_dir)]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline().split()
        assert line[:1] == ["ready"], f"the broker did not start again: {line}"
        return f"amqp://guest:guest@{dict(p.split('=', 1) for p in line[1:])['amqp']}/"

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()


class BrokerOfTwo:
    """The same with clients at one node, and queues at another: both are killed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def start(self) -> str:
        self._cluster.start()
        return self._cluster[CLIENTS].url

    def kill(self) -> None:
        self._cluster.kill()


@pytest.fixture
def broker_process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Killed]:
    if request.config.getoption("--on-cluster"):
        with queues_elsewhere() as cluster:
            yield BrokerOfTwo(cluster)
        return
    process = Broker(tmp_path / "data")
    yield process
    process.kill()


async def publish(url: str, evidence: Evidence, ids: Iterator[str]) -> None:
    """Publish for ever, `PIPELINE` in flight; count what is confirmed."""
    connection = await aio_pika.connect(url)
    channel = await connection.channel()

    async def one(message_id: str, queue: str) -> None:
        message = aio_pika.Message(b"x" * 200, delivery_mode=2, message_id=message_id)
        await channel.default_exchange.publish(message, queue)
        evidence.on_confirmed(message_id)

    while True:
        batch = [
            (next(ids), queue) for queue in itertools.islice(itertools.cycle(QUEUES), PIPELINE)
        ]
        await asyncio.gather(*(one(message_id, queue) for message_id, queue in batch))


async def consume(url: str, evidence: Evidence, queue: str) -> None:
    """Ack in tens; after each ten, a marker on the same channel shows when the acks are synced."""
    connection = await aio_pika.connect(url)
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=40)
    arrived: asyncio.Queue[AbstractIncomingMessage] = asyncio.Queue()

    async def on_message(message: AbstractIncomingMessage) -> None:
        assert message.message_id is not None
        evidence.on_delivered(message.message_id, bool(message.redelivered))
        arrived.put_nowait(message)

    source = await channel.declare_queue(queue, durable=True)
    await source.consume(on_message)
    while True:
        batch = [await arrived.get() for _ in range(10)]
        ids = {str(message.message_id) for message in batch}
        evidence.acked |= ids
        await batch[-1].ack(multiple=True)
        await channel.default_exchange.publish(aio_pika.Message(b"", delivery_mode=2), MARKERS)
        evidence.synced_acks |= ids


async def one_round(broker: Killed, evidence: Evidence, ids: Iterator[str], confirms: int) -> None:
    """Start, work until so many more confirms have come, kill."""
    url = broker.start()
    setup = await aio_pika.connect(url)
    async with setup, await setup.channel() as channel:
        for queue in QUEUES:
            await channel.declare_queue(queue, durable=True)
        await channel.declare_queue(MARKERS, durable=True, arguments={"x-max-length": 10})
    evidence.target, evidence.enough = len(evidence.confirmed) + confirms, asyncio.Event()
    clients: list[asyncio.Task[None]] = [
        *(asyncio.create_task(publish(url, evidence, ids)) for _ in range(PUBLISHERS)),
        *(asyncio.create_task(consume(url, evidence, QUEUES[n % 2])) for n in range(CONSUMERS)),
    ]
    await asyncio.wait_for(evidence.enough.wait(), WAIT_S)
    broker.kill()
    for client in clients:
        client.cancel()
    for ended in await asyncio.gather(*clients, return_exceptions=True):
        if isinstance(ended, Exception) and not isinstance(ended, LOST):
            raise ended


async def drain(broker: Killed, evidence: Evidence) -> None:
    """Start once more and take what is left."""
    connection = await aio_pika.connect(broker.start())
    async with connection, await connection.channel() as channel:
        for queue in QUEUES:
            source: Any = await channel.declare_queue(queue, passive=True)
            while (message := await source.get(no_ack=True, fail=False)) is not None:
                evidence.on_delivered(str(message.message_id), bool(message.redelivered))
                evidence.acked.add(str(message.message_id))


@pytest.mark.slow
@pytest.mark.timeout(120 + 30 * ROUNDS)
def test_nothing_confirmed_is_lost(
    broker_process: Killed, capsys: pytest.CaptureFixture[str]
) -> None:
    chance, evidence = random.Random(SEED), Evidence()
    ids = (f"m-{number}" for number in itertools.count())

    async def story() -> None:
        for _ in range(ROUNDS):
            await one_round(broker_process, evidence, ids, chance.randrange(200, 1500))
        await drain(broker_process, evidence)

    asyncio.run(story())
    missing = evidence.confirmed - evidence.acked
    with capsys.disabled():
        print(
            f"\nkill -9 x {ROUNDS} (seed {SEED}): confirmed {len(evidence.confirmed)},"
            f" delivered {len(evidence.delivered)}, acks known to be synced"
            f" {len(evidence.synced_acks)}, came back {evidence.came_back}, missing {len(missing)},"
            f" violations {len(evidence.violations)}"
        )
    assert missing == set()
    assert evidence.violations == []
    assert evidence.synced_acks, "no ack was ever known to be synced: the test proved nothing"
    assert evidence.came_back, "no message ever came back: the kills hit nothing"


@pytest.mark.slow
def test_delayed_messages_survive_with_their_time(
    broker_process: Killed, pytestconfig: pytest.Config
) -> None:
    is_between_nodes = bool(pytestconfig.getoption("--on-cluster"))

    async def story() -> None:
        connection = await aio_pika.connect(broker_process.start())
        channel = await connection.channel()
        exchange = await channel.declare_exchange(
            "later", "x-delayed-message", durable=True, arguments={"x-delayed-type": "fanout"}
        )
        queue = await channel.declare_queue("delayed", durable=True)
        await queue.bind(exchange)
        for delay in (3_600_000, 2_500, 1):
            body = str(delay).encode()
            message = aio_pika.Message(body, delivery_mode=2, headers={"x-delay": delay})
            await exchange.publish(message, "", mandatory=False)
        broker_process.kill()
        with contextlib.suppress(*LOST):
            await connection.close()

        connection = await aio_pika.connect(broker_process.start())
        async with connection, connection.channel() as channel:
            queue = await channel.declare_queue("delayed", passive=True)
            arrived: asyncio.Queue[bytes] = asyncio.Queue()

            seen: set[bytes] = set()

            async def on_message(message: AbstractIncomingMessage) -> None:
                # On its way to a queue of another node it is in both places for a moment, and the
                # kill may come then.
                if not (is_between_nodes and message.body in seen):
                    arrived.put_nowait(message.body)
                seen.add(message.body)

            await queue.consume(on_message, no_ack=True)
            for expected in (b"1", b"2500"):
                assert await asyncio.wait_for(arrived.get(), WAIT_S) == expected

    asyncio.run(story())


@pytest.mark.slow
def test_what_was_seen_is_known_after_it(broker_process: Killed) -> None:
    async def story() -> None:
        arguments: dict[str, Any] = {"x-message-id-window": 100}
        for round_number in range(3):
            connection = await aio_pika.connect(broker_process.start())
            channel = await connection.channel()
            exchange = await channel.declare_exchange(
                "once", "fanout", durable=True, arguments=arguments
            )
            queue = await channel.declare_queue("seen", durable=True)
            await queue.bind(exchange)
            for number in range(10):
                message = aio_pika.Message(b"x", delivery_mode=2, message_id=f"id-{number}")
                await exchange.publish(message, "", mandatory=False)
            purged = await queue.purge()
            assert purged.message_count == (0 if round_number else 10)
            broker_process.kill()
            with contextlib.suppress(*LOST):
                await connection.close()

    asyncio.run(story())
