"""Rounds, one after the other, and what was different in one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from interop.virtual_time.by_aio_pika import round_by_aio_pika
from interop.virtual_time.by_mqkit import round_by_mqkit
from interop.virtual_time.by_pika import round_by_pika
from interop.virtual_time.plot import EXPECTED, Happened
from mqkit.testing import reference_broker
from mqkit.testing.in_process.vhost import ReferenceBroker

Round = Callable[[ReferenceBroker], tuple[Happened, ...]]

CLIENTS: dict[str, Round] = {
    "mqkit": round_by_mqkit,
    "mqkit-over-aio-pika": partial(round_by_mqkit, transport="aio-pika"),
    "aio-pika": round_by_aio_pika,
    "pika": round_by_pika,
}


@dataclass(frozen=True, slots=True)
class Played:
    """The rounds of one client: ``faults`` in words, and the seconds of the longest one, of real
    time and of CPU time."""

    faults: tuple[str, ...]
    longest_s: float
    longest_cpu_s: float
    whole_s: float


def play(client: str, times: int) -> Played:
    """Play ``times`` rounds by ``client``, each on a virtual host of its own; and one before them,
    which loads what the client needs."""
    faults: list[str] = []
    seconds: list[float] = []
    cpu_seconds: list[float] = []
    with reference_broker() as broker:
        CLIENTS[client](broker)
    for number in range(1, times + 1):
        with reference_broker() as broker:
            begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
            happened = CLIENTS[client](broker)
            seconds.append(time.perf_counter() - begin_s)
            cpu_seconds.append(time.process_time() - begin_cpu_s)
        if happened != EXPECTED:
            faults.append(f"round {number} by {client}: {difference(happened)}")
    return Played(tuple(faults), max(seconds), max(cpu_seconds), sum(seconds))


def difference(happened: tuple[Happened, ...]) -> str:
    """The first place in which a round is another than it has to be."""
    for place, (have, want) in enumerate(zip(happened, EXPECTED, strict=False), start=1):
        if have != want:
            return f"number {place} is {have[0]} at {have[1]:g} s, not {want[0]} at {want[1]:g} s"
    return f"{len(happened)} things happened, not {len(EXPECTED)}"
