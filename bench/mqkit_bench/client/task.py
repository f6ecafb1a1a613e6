"""The task of a client's worker: play one scenario, a round each time it is told to."""

from __future__ import annotations

from multiprocessing.connection import Connection

from mqkit_bench.client.contestant import BY_NAME
from mqkit_bench.client.meter import Meter
from mqkit_bench.client.scenario import Load, Scenario


def play_rounds(pipe: Connection, name: str, scenario: Scenario, url: str, load: Load) -> None:
    """Reports a :class:`~mqkit_bench.client.meter.Measured` for each word it gets. Nothing is
    connected in between, so it may wait as long as the others take."""
    play = BY_NAME[name].play(scenario)
    while True:
        pipe.recv()
        meter = Meter()
        done = play(url, load, meter)
        pipe.send(meter.measured(done))
