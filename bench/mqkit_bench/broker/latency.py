"""``latency``: how long a confirm and a delivery take at fixed rates, beside RabbitMQ, in turns."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Annotated

import typer

from mqkit_bench.broker.catalogue import persistent, transient
from mqkit_bench.broker.command import Against, WithRabbitMQ, modes, others
from mqkit_bench.broker.contest import without_collection
from mqkit_bench.broker.entrant import Entrant, entrants
from mqkit_bench.broker.paced import Arrivals, Run, Schedule, run_paced
from mqkit_bench.broker.scenario import Scenario
from mqkit_bench.broker.stage import Stage
from mqkit_bench.broker.standing import spread
from mqkit_bench.data_folder import disk_kind
from mqkit_bench.message import BODY_BYTES_MAX
from mqkit_bench.report import JsonFile, markdown, say, write_json

QUANTILES = (0.50, 0.99, 0.999)
RATES = [1_000, 10_000, 50_000]
NOT_HELD = "not held"
HEADER = (
    "messages/s",
    "broker",
    "rate held",
    "confirm p50 / p99 / p99.9 (p99 min-max)",
    "delivery p50 / p99 / p99.9 (p99 min-max)",
    "broker CPU / message",
    "generator's share of a core",
)


@dataclass(frozen=True, slots=True)
class Delays:
    """Milliseconds, by quantile, of one round: p50, p99 and p99.9."""

    p50: float
    p99: float
    p999: float

    @classmethod
    def of(cls, arrivals: Arrivals, schedule: Schedule) -> Delays:
        """Raises ``IndexError`` where nothing arrived."""
        ordered = arrivals.delays_s(schedule)
        return cls(*(1000 * ordered[int(q * (len(ordered) - 1))] for q in QUANTILES))


@dataclass(frozen=True, slots=True)
class Round:
    """One entrant's figures in one round. ``confirm`` and ``delivery`` are ``None`` when it could
    not hold the rate: there are only those of what arrived in time."""

    rate: float
    confirm: Delays | None
    delivery: Delays | None
    broker_cpu_us: float | None
    client_share: float


@dataclass(frozen=True, slots=True)
class Standing:
    """An entrant at a rate, over all rounds."""

    scenario: str
    wanted_rate: int
    name: str
    sync_mode: str
    rounds: tuple[Round, ...]


def measure(
    competing: Sequence[Entrant], scenario: Scenario, rate: int, rounds: int, seconds: float
) -> list[Standing]:
    """Let each entrant play in turn: a warm-up round, and ``rounds`` that count."""
    playing = [entrant for entrant in competing if entrant.plays(scenario)]
    schedule = Schedule(rate, max(1, int(rate * seconds)))
    seen: list[list[Round]] = [[] for _ in playing]
    with ExitStack() as stack:
        stages = [stack.enter_context(entrant.set_up(scenario)) for entrant in playing]
        for number in range(rounds + 1):
            for entrant, stage, results in zip(playing, stages, seen, strict=True):
                result = one_round(stage, schedule)
                if number:
                    results.append(result)
                _tell(rate, number, entrant.name, result)
    return [
        Standing(scenario.name, rate, entrant.name, entrant.sync_mode, tuple(results))
        for entrant, results in zip(playing, seen, strict=True)
    ]


def one_round(stage: Stage, schedule: Schedule) -> Round:
    """The schedule once. CPU includes what arrives after its end."""
    contestant = stage.contestant
    with without_collection():
        before = contestant.cpu_s() if contestant.pid else None
        run = run_paced(stage.traffic, schedule)
        cpu_s = None if before is None else contestant.cpu_s() - before
    return _round(run, cpu_s)


def _round(run: Run, cpu_s: float | None) -> Round:
    schedule = run.schedule
    return Round(
        rate=run.rate,
        confirm=Delays.of(run.confirms, schedule) if run.is_held else None,
        delivery=Delays.of(run.deliveries, schedule) if run.is_held else None,
        broker_cpu_us=None if cpu_s is None else 1e6 * cpu_s / max(1, run.sent),
        client_share=run.client_cpu_s / run.seconds,
    )


def _tell(rate: int, number: int, name: str, result: Round) -> None:
    label = f"round {number}" if number else "warm-up"
    confirm = f"not held: {result.rate:,.0f}/s"
    if result.confirm is not None:
        confirm = f"confirm p99 {result.confirm.p99:.2f} ms"
    say(f"{rate:,} messages/s: {label}: {name}: {confirm}")


def table(standings: Sequence[Standing]) -> str:
    """The figures as a Markdown table."""
    return markdown(HEADER, [_row(each) for each in standings])


def _row(standing: Standing) -> list[str]:
    rounds = standing.rounds
    cpu = [each.broker_cpu_us for each in rounds if each.broker_cpu_us is not None]
    held = sum(each.confirm is not None for each in rounds)
    return [
        f"{standing.wanted_rate:,}",
        standing.name,
        "yes" if held == len(rounds) else _not_held(rounds, held),
        _delays([each.confirm for each in rounds]),
        _delays([each.delivery for each in rounds]),
        f"{median(cpu):.1f} us" if cpu else "-",
        f"{median(each.client_share for each in rounds):.0%}",
    ]


def _not_held(rounds: Sequence[Round], held: int) -> str:
    reached = median(each.rate for each in rounds)
    return f"in {held} of {len(rounds)} rounds ({reached:,.0f}/s)"


def _delays(found: Sequence[Delays | None]) -> str:
    known = [each for each in found if each is not None]
    if not known:
        return NOT_HELD
    p50, p999 = (median(figures) for figures in ([k.p50 for k in known], [k.p999 for k in known]))
    p99 = spread([each.p99 for each in known])
    return f"{p50:.2f} / {p99.median:.2f} / {p999:.2f} ms ({p99.low:.2f}-{p99.high:.2f})"


def latency(
    rate: Annotated[
        list[int], typer.Option(min=1, help="Messages a second; again for another.")
    ] = RATES,
    rounds: int = typer.Option(5, min=1, help="Rounds that count, after one that does not."),
    seconds: float = typer.Option(5.0, min=0.05, help="Seconds of each round."),
    body_bytes: int = typer.Option(1024, min=0, max=BODY_BYTES_MAX, help="Bytes of each body."),
    transient_messages: bool = typer.Option(
        False, "--transient", help="Transient messages instead."
    ),
    against: Against = [],  # noqa: B006 - typer reads it
    rabbitmq: WithRabbitMQ = True,
    relay: bool = typer.Option(True, help="And the floor: the same bytes through a bare relay."),
    json_file: JsonFile = None,
) -> None:
    """Confirm and delivery delays at fixed rates, from when each message was due."""
    kind = disk_kind()
    scenario = (transient if transient_messages else persistent)(body_bytes)
    standings: list[Standing] = []
    with entrants(others(rabbitmq, against), relay=relay) as competing:
        for each in rate:
            standings += measure(competing, scenario, each, rounds, seconds)
            write_json(json_file, standings)
        synced = modes(competing)
    print(
        f"{body_bytes} B bodies, {scenario.name}, confirm and ack; {rounds} alternating rounds of"
        f" {seconds:g} s, medians of their quantiles; delays from when a message was due; data on"
        f" {kind}.\n{synced}\n"
    )
    print(table(standings))
