"""A busy publisher: a user who publishes as fast as confirms come, and its rate beside others."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection

from mqkit_bench.filler import Filler, publisher
from mqkit_bench.ring import Ring
from mqkit_bench.session import Address
from mqkit_bench.worker import Worker

STEP_MS = 50
BODY_BYTES = 1024


def publish_busily(pipe: Connection, address: Address, queue: str) -> None:
    """A worker's task: publishes persistent messages all the time, and reports how many are
    confirmed each time it is told anything."""
    with closing(Filler(publisher(address), Ring.round_robin([queue], BODY_BYTES))) as filler:
        while True:
            filler.step(1 << 60, STEP_MS)
            if pipe.poll():
                pipe.recv()
                pipe.send(filler.confirmed)


def rate_during(worker: Worker, wait: Callable[[], None]) -> float:
    """Messages a second that are confirmed until ``wait`` returns."""
    before, began = _confirmed(worker), time.perf_counter()
    wait()
    return (_confirmed(worker) - before) / (time.perf_counter() - began)


def _confirmed(worker: Worker) -> int:
    worker.tell("count")
    return int(worker.report())
