"""A contest: a scenario on all entrants in turn, a warm-up round and then those that count."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from mqkit_bench.broker.entrant import Entrant
from mqkit_bench.broker.scenario import Scenario
from mqkit_bench.broker.stage import Stage
from mqkit_bench.broker.standing import Round, Standing, bound_by, standing
from mqkit_bench.report import say


def compete(
    entrants: Sequence[Entrant], scenario: Scenario, rounds: int, seconds: float
) -> list[Standing]:
    """Set the scenario up on all that play it, run it in turns, and take it down.

    Raises what :func:`~mqkit_bench.broker.stage.stage` and
    :meth:`~mqkit_bench.broker.traffic.Traffic.run` raise.
    """
    playing = [entrant for entrant in entrants if entrant.plays(scenario)]
    seen: list[list[Round]] = [[] for _ in playing]
    syncs: list[int | None] = []
    with ExitStack() as stack:
        stages = [stack.enter_context(entrant.set_up(scenario)) for entrant in playing]
        for number in range(rounds + 1):
            for entrant, stage, results in zip(playing, stages, seen, strict=True):
                result = play(stage, seconds)
                if number:
                    results.append(result)
                else:
                    syncs.append(entrant.syncs())
                _tell(scenario, entrant, number, result)
        per_sync = [
            _messages_per_sync(results, before, entrant.syncs())
            for entrant, results, before in zip(playing, seen, syncs, strict=True)
        ]
    return [
        standing(
            scenario,
            entrant.name,
            entrant.sync_mode,
            results,
            seen[0] if number else None,
            per_sync[number],
        )
        for number, (entrant, results) in enumerate(zip(playing, seen, strict=True))
    ]


def play(stage: Stage, seconds: float) -> Round:
    """Play one round. The broker's CPU is from before the first publish until all has arrived."""
    contestant = stage.contestant
    with without_collection():
        before = contestant.cpu_s() if contestant.pid else None
        passed = stage.traffic.run(seconds)
        cpu_s = None if before is None else contestant.cpu_s() - before
    rss_mib = contestant.rss_mib() if contestant.pid else None
    stage.clear()
    return Round(
        rate=passed.rate,
        broker_cpu_us=None if cpu_s is None else 1e6 * cpu_s / passed.messages,
        client_cpu_us=1e6 * passed.client_cpu_s / passed.messages,
        rss_mib=rss_mib,
        messages=passed.messages,
        bound_by=bound_by(passed.client_cpu_s, cpu_s, passed.seconds),
        confirm_ms=passed.confirm_ms,
    )


@contextmanager
def without_collection() -> Iterator[None]:
    """The generator's garbage collector makes no pauses meanwhile."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _messages_per_sync(
    results: Sequence[Round], before: int | None, after: int | None
) -> float | None:
    """Messages per sync over all rounds together: RabbitMQ's own count of its syncs lags by
    seconds."""
    if before is None or after is None or after <= before:
        return None
    return sum(each.messages for each in results) / (after - before)


def _tell(scenario: Scenario, entrant: Entrant, number: int, result: Round) -> None:
    label = f"round {number}" if number else "warm-up"
    cpu = result.broker_cpu_us
    cost = "" if cpu is None else f", {cpu:.1f} us of broker CPU a message"
    say(
        f"{scenario.name}, {scenario.body_bytes:,} B: {label}: {entrant.name}:"
        f" {result.rate:,.0f} messages/s{cost}"
    )
