"""A run: broker, gunicorn, clients, restarts, and the judgement."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pika

from interop.effects.processes import Broker, running_broker
from interop.sync.clients import Answers, Clients, ask
from interop.sync.judgement import FAULTS_SHOWN, faults
from interop.sync.layout import BEFORE_THE_FORK, QUEUE
from mqkit.testing.servers.free_ports import free_ports

WORKERS = 4
THREADS = 8
CLIENTS = WORKERS * THREADS
START_WITHIN_S = 60.0
REST_S = 2.0
"""A worker closes its clients' sockets soon after it has answered."""
REST_WITHIN_S = 20.0
LOOK_AGAIN_S = 0.1
END_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """Requests for so many seconds, in which the broker of that name is killed so many times."""

    seconds: float
    restarts: int
    broker: str


def run(options: Options) -> int:
    """Returns the exit code, and prints figures."""
    with running_broker(options.broker) as broker:
        _declare(broker)
        with _site(broker) as (master, port):
            before = _at_rest(master, _wake_all(port), REST_S)
            with Clients(port, CLIENTS, "run") as clients:
                _restart_now_and_then(options, broker)
            awake = _wake_all(port)
            after = _at_rest(master, awake, REST_WITHIN_S, before)
        answers = clients.answers
        queued = [body for body in _taken(broker) if body.startswith("run-")]
    return _report(answers, queued, before, after)


def _declare(broker: Broker) -> None:
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        connection.channel().queue_declare(QUEUE, durable=True)


@contextmanager
def _site(broker: Broker) -> Iterator[tuple[int, int]]:
    """gunicorn for the time of the block: its process id, and its port."""
    (port,) = free_ports(1)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "--preload", "--bind", f"127.0.0.1:{port}"),
            *("--workers", str(WORKERS), "--threads", str(THREADS), "--timeout", "120"),
            *("--log-level", "error", "--worker-tmp-dir", "/dev/shm", "interop.sync.site:site"),
        ],
        env={**os.environ, "MQKIT_URL": broker.url},
    )
    try:
        yield process.pid, port
    finally:
        process.terminate()
        try:
            process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.returncode:
        raise RuntimeError(f"gunicorn ended with {process.returncode}")


def _wake_all(port: int) -> set[int]:
    """Ask until each worker has answered once: then each has its connection."""
    awake: set[int] = set()
    until = time.monotonic() + START_WITHIN_S
    while len(awake) < WORKERS:
        with Clients(port, CLIENTS, f"wake-{time.monotonic_ns()}") as clients:
            try:
                awake.add(ask(port, BEFORE_THE_FORK)[0])
            except OSError:
                time.sleep(LOOK_AGAIN_S)
        awake |= clients.answers.workers
        if time.monotonic() > until:
            raise RuntimeError(f"only {len(awake)} of {WORKERS} workers have answered")
    return awake


def _at_rest(
    master: int, workers: set[int], within_s: float, wanted: dict[int, int] | None = None
) -> dict[int, int]:
    """The number of descriptors of each worker, once there are no more than ``wanted``, or else as
    few as they become."""
    lowest: dict[int, int] = {}
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        for worker in workers & _children(master):
            here = len(os.listdir(f"/proc/{worker}/fd"))
            lowest[worker] = min(here, lowest.get(worker, here))
        if wanted is not None and all(lowest[each] <= wanted.get(each, 0) for each in lowest):
            break
        time.sleep(LOOK_AGAIN_S)
    return lowest


def _children(process: int) -> set[int]:
    return set(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def _restart_now_and_then(options: Options, broker: Broker) -> None:
    begun = time.monotonic()
    for restart in range(options.restarts):
        due = begun + options.seconds * (restart + 0.5) / options.restarts
        time.sleep(max(0.0, due - time.monotonic()))
        broker.kill_and_start()
    time.sleep(max(0.0, begun + options.seconds - time.monotonic()))


def _taken(broker: Broker) -> Iterator[str]:
    """The bodies in the queue, which is empty then."""
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.basic_qos(prefetch_count=1000)
        for method, _, body in channel.consume(QUEUE, inactivity_timeout=2.0):
            if method is None:
                return
            yield body.decode()
            channel.basic_ack(method.delivery_tag)


def _report(
    answers: Answers, queued: list[str], before: dict[int, int], after: dict[int, int]
) -> int:
    outcomes = Counter(answers.outcomes.values())
    print(
        f"{len(answers.outcomes)} requests have an outcome ({dict(outcomes)}),"
        f" {len(answers.failures)} have none; {len(queued)} messages,"
        f" {len(queued) - len(set(queued))} of them repetitions; descriptors of workers"
        f" {sorted(before.values())}, then {sorted(after.values())}"
    )
    found = faults(answers, queued, before, after)
    if not outcomes["Confirmed"]:
        found.append("nothing was confirmed")
    print(f"{len(found)} faults")
    for fault in found[:FAULTS_SHOWN]:
        print(f"  {fault}")
    return 1 if found else 0
