"""Rounds of the clients: a scenario at a time, each contestant in turn, again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from mqkit_bench.client.contestant import ClientContestant
from mqkit_bench.client.meter import Measured
from mqkit_bench.client.queue import ClientQueue
from mqkit_bench.client.scenario import Load, Scenario
from mqkit_bench.client.task import play_rounds
from mqkit_bench.session import Address
from mqkit_bench.worker import Worker


@dataclass(frozen=True, slots=True)
class Target:
    """The broker that all of them talk to."""

    name: str
    url: str
    address: Address


@dataclass(frozen=True, slots=True)
class ClientStanding:
    """One contestant's rounds of one scenario, in order; or why there are none."""

    scenario: Scenario
    name: str
    version: str | None
    note: str
    rounds: list[Measured] = field(default_factory=list)


def compete(
    target: Target,
    contestants: Sequence[ClientContestant],
    scenarios: Sequence[Scenario],
    load: Load,
    rounds: int,
    say: Callable[[str], None],
) -> list[ClientStanding]:
    """Play each scenario with all contestants: a warm-up round that does not count, then ``rounds``
    alternating ones. Raises :exc:`~mqkit_bench.report.Discrepancy` and
    :exc:`~mqkit_bench.worker.WorkerFailed`."""
    queue = ClientQueue(target.address)
    standings: list[ClientStanding] = []
    for scenario in scenarios:
        entered = {c.name: c for c in contestants if scenario in c.enters}
        here = [_standing(scenario, contestant) for contestant in entered.values()]
        playing = [each for each in here if entered[each.name].why_not(scenario) is None]
        with queue.deleted_afterwards(load.queue):
            _rounds(target, queue, playing, load.of(scenario), rounds, say)
        standings += here
    return standings


def _standing(scenario: Scenario, contestant: ClientContestant) -> ClientStanding:
    note = contestant.why_not(scenario) or contestant.notes.get(scenario, "")
    return ClientStanding(scenario, contestant.name, contestant.version, note)


def _rounds(
    target: Target,
    queue: ClientQueue,
    standings: Sequence[ClientStanding],
    load: Load,
    rounds: int,
    say: Callable[[str], None],
) -> None:
    with ExitStack() as stack:
        # Of this scenario only: what a process has done before would be in its memory.
        workers = [
            stack.enter_context(Worker(play_rounds, each.name, each.scenario, target.url, load))
            for each in standings
        ]
        for number in range(rounds + 1):
            for standing, worker in zip(standings, workers, strict=True):
                queue.prepare(load, standing.scenario)
                worker.tell("play")
                measured: Measured = worker.report()
                queue.check(load, standing.scenario, standing.name, measured.messages)
                label = f"round {number}" if number else "warm-up"
                say(
                    f"{label}: {standing.scenario}: {standing.name}: {measured.cpu_us:.1f} us of"
                    f" CPU a message, {measured.rate:,.0f} messages/s"
                )
                if number:
                    standing.rounds.append(measured)
