"""``growth``: what a message costs the broker when there is more of something.

Each axis is a family of scenarios. Its points are set up and taken down one after the other, round
after round, so that what the machine does meanwhile falls on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from mqkit_bench.broker import families
from mqkit_bench.broker.catalogue import persistent
from mqkit_bench.broker.command import Against
from mqkit_bench.broker.contest import play
from mqkit_bench.broker.entrant import Entrant, entrants
from mqkit_bench.broker.scenario import Scenario
from mqkit_bench.broker.standing import NOTHING, Spread, spread
from mqkit_bench.data_folder import disk_kind
from mqkit_bench.message import BODY_BYTES_MAX
from mqkit_bench.report import JsonFile, markdown, say, write_json

UNDER_WAY_BYTES = 4 << 20
"""Bytes of bodies under way, where their size grows."""

HEADER = ("more of", "count", "broker", "broker CPU / message (min-max)", "of the first", "RSS")


@dataclass(frozen=True, slots=True)
class Axis:
    """A quantity that grows from point to point, with its counts."""

    name: str
    what: str
    make: Callable[[int, int], Scenario]
    """Makes the scenario of a count and the bytes of a body."""
    counts: tuple[int, ...]

    def scenarios(self, largest: int, body_bytes: int) -> Iterator[tuple[int, Scenario]]:
        for count in self.counts:
            if count <= largest:
                yield count, self.make(count, body_bytes)


def bodies(count: int, _: int) -> Scenario:
    """Bodies of ``count`` bytes, whatever the others have. No more of them are under way than a
    queue holds in memory: what comes back from the disk is the axis of depth."""
    scenario = persistent(count)
    return replace(scenario, window=min(scenario.window, UNDER_WAY_BYTES // count))


AXES = {
    axis.name: axis
    for axis in (
        Axis("depth", "ready messages", families.depth, (0, 1_000, 10_000, 100_000, 1_000_000)),
        Axis("queues", "queues in use", families.queues, (1, 10, 100, 1_000, 10_000)),
        Axis("bindings", "topic bindings", families.bindings, (10, 100, 1_000, 10_000)),
        Axis("idle", "idle connections", families.idle_connections, (0, 10, 100, 1_000)),
        Axis("busy", "pairs of busy connections", families.connections, (1, 10, 100, 500, 1_000)),
        Axis("consumers", "idle consumers", families.idle_consumers, (0, 1_000, 10_000, 50_000)),
        Axis("bytes", "bytes of a body", bodies, (16, 256, 1_024, 4_096, 16_384, 65_536)),
    )
}


@dataclass(frozen=True, slots=True)
class Point:
    """The cost of a message for one broker at one count."""

    axis: str
    what: str
    count: int
    name: str
    broker_cpu_us: Spread
    rss_mib: float


def walk(
    entrants: Sequence[Entrant], axis: Axis, largest: int, body_bytes: int, rounds: int, sec: float
) -> list[Point]:
    """All points of an axis, in order of their counts; brokers whose CPU can't be seen have none.

    Raises what :func:`~mqkit_bench.broker.contest.play` and a stage raise.
    """
    seen: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for number in range(1, rounds + 1):
        for count, scenario in axis.scenarios(largest, body_bytes):
            for entrant in filter(lambda each: each.plays(scenario), entrants):
                with entrant.set_up(scenario) as stage:
                    play(stage, sec / 2)  # a warm-up
                    result = play(stage, sec)
                if result.broker_cpu_us is None or result.rss_mib is None:
                    continue
                figures = seen.setdefault((count, entrant.name), [])
                figures.append((result.broker_cpu_us, result.rss_mib))
                say(
                    f"round {number}: {scenario.name}: {entrant.name}:"
                    f" {result.broker_cpu_us:.1f} us of broker CPU a message"
                )
    return [
        Point(
            axis=axis.name,
            what=axis.what,
            count=count,
            name=name,
            broker_cpu_us=spread([cpu_us for cpu_us, _ in figures]),
            rss_mib=max(rss for _, rss in figures),
        )
        for (count, name), figures in seen.items()
    ]


def table(points: Sequence[Point]) -> str:
    """The points as a Markdown table."""
    first: dict[tuple[str, str], float] = {}
    rows = []
    for point in sorted(points, key=lambda each: (list(AXES).index(each.axis), each.name)):
        cpu = point.broker_cpu_us
        start = first.setdefault((point.axis, point.name), cpu.median)
        rows.append(
            [
                point.what,
                f"{point.count:,}",
                point.name,
                f"{cpu.median:.1f} us ({cpu.low:.1f}-{cpu.high:.1f})",
                f"{cpu.median / start:.2f}" if start else NOTHING,
                f"{point.rss_mib:,.0f} MiB",
            ]
        )
    return markdown(HEADER, rows)


def growth(
    axis: Annotated[
        list[str], typer.Option(help=f"One of {', '.join(AXES)}; again for another.")
    ] = [],  # noqa: B006 - typer reads it
    largest: int = typer.Option(1_000_000, min=1, help="No point with more than this."),
    body_bytes: int = typer.Option(
        256, min=0, max=BODY_BYTES_MAX, help="Bytes of each body, but on the axis of bytes."
    ),
    rounds: int = typer.Option(3, min=1, help="Rounds, each over all points of an axis."),
    seconds: float = typer.Option(2.0, min=0.05, help="Seconds of publishing at each point."),
    against: Against = [],  # noqa: B006 - typer reads it
    relay: bool = typer.Option(True, help="And the floor: the same bytes through a bare relay."),
    json_file: JsonFile = None,
) -> None:
    """Broker CPU a message against queue depth, queues, bindings, connections, consumers, bytes."""
    unknown = [name for name in axis if name not in AXES]
    if unknown:
        raise typer.BadParameter(f"no axis {unknown[0]!r}: one of {', '.join(AXES)}")
    kind = disk_kind()
    points: list[Point] = []
    with entrants(against, relay=relay) as competing:
        for name in axis or AXES:
            points += walk(competing, AXES[name], largest, body_bytes, rounds, seconds)
            write_json(json_file, points)
    print(
        f"{body_bytes} B bodies, persistent, confirm and ack; {rounds} rounds of {seconds:g} s at"
        f" each point, medians; data on {kind}.\n"
    )
    print(table(points))
