"""Rounds: every contestant in turn, again and again, and the medians of what was measured."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.contestant import Contestant
from bench.load import Workload, run


@dataclass(frozen=True, slots=True)
class Round:
    """One contestant's figures in one round."""

    rate: float
    confirm_p50_ms: float
    confirm_p99_ms: float
    broker_cpu_us: float
    client_cpu_us: float
    rss_mib: float
    messages: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A contestant's median over its rounds, with the lowest and highest rate seen."""

    name: str
    median: Round
    rate_range: tuple[float, float]
    messages_per_sync: float
    """Over all rounds together: RabbitMQ's own count of its syncs lags by seconds."""


def one_round(contestant: Contestant, workload: Workload) -> Round:
    """Run the workload once. CPU includes the drain after it, for every contestant alike."""
    gc.collect()
    cpu_before = contestant.cpu_s()
    measured = run(contestant.address, workload)
    cpu_s = contestant.cpu_s() - cpu_before
    return Round(
        rate=measured.rate,
        confirm_p50_ms=measured.latency_ms(0.50),
        confirm_p99_ms=measured.latency_ms(0.99),
        broker_cpu_us=1e6 * cpu_s / measured.messages,
        client_cpu_us=1e6 * measured.client_cpu_s / measured.messages,
        rss_mib=contestant.rss_mib(),
        messages=measured.messages,
    )


def compete(
    contestants: Sequence[Contestant],
    workload: Workload,
    rounds: int,
    say: Callable[[str], None],
) -> list[Standing]:
    """A warm-up round that does not count, then ``rounds`` alternating ones."""
    seen: dict[str, list[Round]] = {contestant.name: [] for contestant in contestants}
    syncs_before: dict[str, int] = {}
    for number in range(rounds + 1):
        for contestant in contestants:
            result = one_round(contestant, workload)
            label = f"round {number}" if number else "warm-up"
            say(
                f"{label}: {contestant.name}: {result.rate:,.0f} messages/s,"
                f" {result.broker_cpu_us:.1f} us of broker CPU a message"
            )
            if number:
                seen[contestant.name].append(result)
            else:
                syncs_before[contestant.name] = contestant.syncs()
    return [_standing(c.name, seen[c.name], c.syncs() - syncs_before[c.name]) for c in contestants]


def _standing(name: str, results: Sequence[Round], syncs: int) -> Standing:
    rates = [result.rate for result in results]
    middle = Round(
        **{field: median(getattr(r, field) for r in results) for field in Round.__slots__}
    )
    messages = sum(result.messages for result in results)
    return Standing(name, middle, (min(rates), max(rates)), messages / max(1, syncs))
