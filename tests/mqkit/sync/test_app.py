"""mqkit.sync.App: the names of mqkit.App, without await."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

import mqkit
import mqkit.sync
from mqkit.errors import ConfigurationError, DeadlineExceeded

WAIT_S = 20.0


@pytest.fixture
def topology(tmp_path: Path, name: str, broker_url: str) -> Any:
    import pika

    file = tmp_path / "topology.yaml"
    file.write_text(
        f"exchanges:\n  {name}: {{type: topic, delays: [50ms]}}\nqueues:\n"
        f"  {name}.in: {{bind: [{{from: {name}, key: '#'}}], retry: {{after: [10ms]}}}}\n"
        f"  {name}.out: {{}}\n"
    )
    yield file
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as connection:
        channel = connection.channel()
        for queue in (".in", ".in.retry.10ms", ".in.parked", ".out", ".delay.50ms"):
            channel.queue_delete(name + queue)
        for exchange in ("", ".delay.50ms"):
            channel.exchange_delete(name + exchange)


VERBS = ["publish", "send", "publish_batch", "call", "around_publish", "to"]


@pytest.mark.parametrize("verb", [*VERBS, "consumer", "batch_consumer", "queue"])
def test_its_verbs_have_the_same_arguments(verb: str) -> None:
    ours = inspect.signature(getattr(mqkit.sync.App, verb)).parameters
    theirs = inspect.signature(getattr(mqkit.App, verb)).parameters
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


@pytest.mark.parametrize("transport", ["native", "pika"])
def test_a_handler_publishes_by_the_same_app(
    broker_url: str, topology: Path, name: str, transport: str
) -> None:
    app = mqkit.sync.App(broker_url, topology, transport=transport)
    came: list[bytes] = []
    done = threading.Event()

    @app.consumer(f"{name}.in", concurrency=2)
    def double(number: int, delivery: mqkit.Delivery) -> None:
        if delivery.attempt == 1 and number == 3:
            raise ValueError("at the second attempt")
        assert app.publish("", f"{name}.out", str(2 * number))

    @app.batch_consumer(f"{name}.out", size=10, within=0.05)
    def note(batch: mqkit.Batch[bytes]) -> None:
        came.extend(batch)
        if len(came) == 5:
            done.set()

    with app, app.running():
        numbers = app.to(name, "n", model=int)
        assert all(numbers.publish(n) for n in range(3))
        assert all(app.publish_batch([numbers.message(n) for n in (3, 4)]))
        assert done.wait(WAIT_S)
    assert sorted(came) == [b"0", b"2", b"4", b"6", b"8"]
    assert app.consuming.stats.acked == 10


def test_what_is_published_goes_through_middleware(
    broker_url: str, topology: Path, name: str
) -> None:
    app = mqkit.sync.App(broker_url, topology)
    came: Queue[object] = Queue()

    @app.consumer(f"{name}.in")
    def note(delivery: mqkit.Delivery) -> None:
        came.put((delivery.body, delivery.headers["trace"]))

    @app.around_publish
    def traced(message: mqkit.Message, publish: mqkit.sync.PublishNext) -> mqkit.Outcome:
        return publish(message.with_headers({"trace": "7f3a"}))

    with app, app.running():
        assert app.publish(name, "k", b"1")
        assert app.to(name, "k").publish(b"2")
        assert all(app.publish_batch([app.message(name, "k", body) for body in (b"3", b"4")]))
        bodies = [came.get(timeout=WAIT_S) for _ in range(4)]
    assert sorted(map(str, bodies)) == [f"(b'{number}', '7f3a')" for number in range(1, 5)]

    async def asynchronous(message: Any, publish: Any) -> Any: ...

    with pytest.raises(ConfigurationError, match="plain functions as middleware"):
        app.around_publish(asynchronous)  # type: ignore[type-var]


def test_what_is_delayed_comes_later(broker_url: str, topology: Path, name: str) -> None:
    app = mqkit.sync.App(broker_url, topology)
    came: Queue[str] = Queue()

    @app.queue(f"{name}.in").on(str, name="late")
    def note(text: str) -> None:
        came.put(text)

    with app, app.running():
        assert app.publish(name, "k", "1", delay="50ms", type="late")
        assert app.send(app.delayed(app.message(name, "k", "2", type="late"), 0.05))
        assert [came.get(timeout=WAIT_S) for _ in range(2)] == ["1", "2"]
    with pytest.raises(ConfigurationError, match="no delay of 7s"):
        app.publish(name, "k", b"x", delay="7s")


PROGRAM = """
import os, sys, mqkit.sync
app = mqkit.sync.App(sys.argv[1])
@app.consumer(sys.argv[2])
def note(body: bytes) -> None:
    print(body.decode(), app.publish("", sys.argv[3], body).__class__.__name__, flush=True)
print("runs", flush=True)
app.run()
print("ended", flush=True)
"""


def test_a_command_runs_until_sigterm(broker_url: str, topology: Path, name: str) -> None:
    with mqkit.sync.App(broker_url, topology) as app:
        assert app.publish(name, "k", b"one")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, broker_url, f"{name}.in", f"{name}.out"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["runs\n", "one Confirmed\n"]
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=WAIT_S)[0] == "ended\n"
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0


def test_a_command_whose_queue_is_missing_says_so(broker_url: str, name: str) -> None:
    app = mqkit.sync.App(broker_url)
    app.consumer(f"{name}.missing")(str.encode)
    with pytest.raises(mqkit.ChannelError, match="404"), app.running():
        pass


def test_running_gives_up_at_its_deadline(unused_port: int) -> None:
    app = mqkit.sync.App(f"amqp://127.0.0.1:{unused_port}/")
    with pytest.raises(DeadlineExceeded, match=r"not ready within 0\.1 s"), app.running(0.1):
        pass


@pytest.mark.parametrize("verb", ["consumer", "batch_consumer"])
def test_a_handler_is_a_plain_function(verb: str) -> None:
    async def handle(body: Any) -> None: ...

    options = {"size": 3} if verb == "batch_consumer" else {}
    register = getattr(mqkit.sync.App(), verb)("q", **options)
    with pytest.raises(ConfigurationError, match="handle is async def"):
        register(handle)


def test_transports_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match="no blocking transport 'aio-pika', but these: nat"
    ):
        mqkit.sync.App(transport="aio-pika")
    by_settings = mqkit.sync.App(settings=mqkit.Settings.load(transport="aio-pika"))
    assert by_settings._transport == "pika"


def test_a_topology_of_another_vhost_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "topology.yaml"
    file.write_text("vhost: shop\nqueues:\n  work: {}\n")
    with pytest.raises(ConfigurationError, match="is for the vhost 'shop'"):
        mqkit.sync.App(topology=file)
