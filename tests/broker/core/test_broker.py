"""The wiring: dirty connections, deadlines, recovery of definitions, and determinism."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from mqkit.wire.methods import (
    BasicConsume,
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
)
from reference_broker.core.limits import HANDSHAKE_S
from reference_broker.simulation.lone_broker import LoneBroker


def test_a_connection_is_listed_as_dirty_once_and_by_any_input_that_concerns_it() -> None:
    lone = LoneBroker()
    consumer, publisher = lone.client(), lone.client()
    consumer.send(1, QueueDeclare("q"), BasicConsume("q", "t"))
    publisher.publish("q")
    publisher.publish("q")
    dirty = lone.broker.take_dirty_connections()
    assert dirty == [consumer.connection, publisher.connection]
    assert lone.broker.take_dirty_connections() == []
    publisher.publish("q")
    assert lone.broker.take_dirty_connections() == [consumer.connection]


def test_the_next_deadline_is_the_soonest_of_either_clock() -> None:
    lone = LoneBroker()
    assert lone.broker.next_deadline() is None
    client = lone.socket()
    assert lone.broker.next_deadline() == pytest.approx(lone.now_s + HANDSHAKE_S, abs=0.02)
    client.disconnect()
    client = lone.client()
    client.send(1, QueueDeclare("q", arguments={"x-expires": 500}))
    deadline = lone.broker.next_deadline()
    assert deadline is not None
    assert deadline <= lone.now_s + 0.52


def test_a_tick_expires_a_queue() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q", arguments={"x-expires": 500}))
    lone.pass_time(0.4)
    assert "q" in lone.broker.vhosts["/"].queues
    lone.pass_time(0.2)
    assert "q" not in lone.broker.vhosts["/"].queues


def test_a_tick_that_is_early_does_nothing() -> None:
    lone = LoneBroker()
    client = lone.client()
    for _ in range(5):
        lone.broker.tick(lone.now_s, lone.wall_ms)
    assert client.received() == []


def test_a_message_expires_in_the_tick_that_was_asked_for() -> None:
    lone = LoneBroker()
    client = lone.client()
    client.send(1, QueueDeclare("q", arguments={"x-message-ttl": 300}))
    client.publish("q")
    lone.pass_time(0.29)
    assert lone.broker.vhosts["/"].queues["q"].ready == 1
    lone.pass_time(0.1)
    assert lone.broker.vhosts["/"].queues["q"].ready == 0


def test_definitions_are_taken_up_before_anything_else() -> None:
    class Definitions:
        def __init__(self) -> None:
            self.values: dict[str, bytes] = {}

    lone = LoneBroker()
    kept = Definitions()

    def define(key: str, value: bytes | None) -> None:
        assert value is not None
        kept.values[key] = value

    lone.journal.define = define  # type: ignore[method-assign]
    client = lone.client()
    client.send(
        1,
        QueueDeclare("q", durable=True),
        QueueDeclare("transient"),
        ExchangeDeclare("x", "topic", durable=True),
        QueueBind("q", "x", "a.#"),
    )
    again = LoneBroker()
    again.broker.restore(kept.values)
    vhost = again.broker.vhosts["/"]
    assert list(vhost.queues) == ["q"]
    assert [queue.name for queue in vhost.route("x", "a.b", b"") or ()] == ["q"]


SCRIPT = """
import hashlib
from mqkit.wire.methods import *
from reference_broker.simulation.lone_broker import LoneBroker
lone = LoneBroker()
clients = [lone.client(heartbeat_s=10) for _ in range(3)]
trace = hashlib.sha256()
for round in range(30):
    for number, client in enumerate(clients):
        client.send(1, QueueDeclare(f"q{round % 5}"), QueueDeclare(exclusive=True))
        client.send(1, BasicConsume(f"q{round % 5}"), QueueBind("", "amq.topic", "a.*"))
        client.publish("a.b", exchange="amq.topic")
        if round == 20 and number == 1:
            client.disconnect()
    lone.pass_time(1)
    for client in clients:
        trace.update(client.output())
print(trace.hexdigest())
"""


def test_the_same_inputs_give_the_same_bytes_whatever_the_hash_seed() -> None:
    traces = set()
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            text=True,
            check=True,
        )
        traces.add(done.stdout)
    assert len(traces) == 1
    assert traces != {hashlib.sha256().hexdigest() + "\n"}
