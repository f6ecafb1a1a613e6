"""``backlog``: many small messages that nobody takes; what they cost in memory, in publish rate,
and in the time of a restart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

import typer

from mqkit_bench.contestant import Contestant, Counts
from mqkit_bench.data_folder import data_folder, disk_kind
from mqkit_bench.filler import Pace, fill
from mqkit_bench.message import BODY_BYTES_MAX
from mqkit_bench.report import JsonFile, markdown, say, write_json
from mqkit_bench.restart import Ending, Restart, restart
from mqkit_bench.ring import Ring
from mqkit_bench.server import Server, rabbitmq_server, reference_server
from mqkit_bench.session import Session

WINDOW_MESSAGES = 100_000
"""The publish rate at 100,000 messages and at all of them is each that of so many messages."""
RECORD_OVERHEAD_BYTES = 200
"""Bytes of disk space for a message beside its body, generously."""
HEADER = (
    "broker",
    "messages / queues",
    "RSS growth",
    "publish rate: first / last window (ratio)",
    "mean / slowest window",
    "broker / client CPU a message",
    "after kill -9: ready / first delivery",
    "after a clean stop: ready / first delivery",
    "recovered",
)


@dataclass(frozen=True, slots=True)
class Backlog:
    """A backlog to fill in: messages, the queues that share them, and their size."""

    messages: int
    queues: int
    body_bytes: int

    @property
    def queue_names(self) -> list[str]:
        """Names of one length, so that all frames have one."""
        return [f"bench.backlog.{number:06}" for number in range(self.queues)]

    @property
    def window(self) -> int:
        return min(WINDOW_MESSAGES, -(-self.messages // 2))


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of a backlog for one contestant. Rates are confirmed messages a second."""

    name: str
    backlog: Backlog
    rss_before_mib: float
    rss_after_mib: float
    first_rate: float
    last_rate: float
    mean_rate: float
    slowest_rate: float
    broker_cpu_us: float
    client_cpu_us: float
    restarts: tuple[Restart, ...]

    @property
    def rss_growth_mib(self) -> float:
        return self.rss_after_mib - self.rss_before_mib


def measure(server: Server, backlog: Backlog) -> Figures:
    """Fill, count, kill, start, count, stop, start, count; then delete the queues.

    Raises :exc:`~mqkit_bench.report.Discrepancy` when a count is not what was confirmed,
    :exc:`~mqkit_bench.filler.Stalled` when the broker takes no more, ``ConnectionError`` for a
    nack.
    """
    contestant = server.contestant
    queues = backlog.queue_names
    rss_before_mib = contestant.rss_mib()
    with closing(Session(contestant.address)) as control:
        for queue in queues:
            control.declare(queue)
    cpu_s, client_cpu_s = contestant.cpu_s(), time.process_time()
    pace = _fill(contestant, backlog)
    cpu_s, client_cpu_s = contestant.cpu_s() - cpu_s, time.process_time() - client_cpu_s
    rss_after_mib = contestant.rss_mib()
    contestant.expect(queues, Counts(backlog.messages, 0))
    restarts = []
    for ending in (Ending.KILL, Ending.STOP):
        result = restart(server, ending, queues, backlog.messages)
        say(
            f"{contestant.name}: {ending.value}: ready after {result.ready_s:.2f} s,"
            f" first delivery after {result.first_delivery_s:.2f} s, {result.recovered:,} messages"
        )
        restarts.append(result)
    with closing(Session(server.contestant.address)) as control:
        for queue in queues:
            control.delete(queue)
    last, window = backlog.messages, backlog.window
    return Figures(
        name=contestant.name,
        backlog=backlog,
        rss_before_mib=rss_before_mib,
        rss_after_mib=rss_after_mib,
        first_rate=pace.rate(0, window),
        last_rate=pace.rate(last - window, last),
        mean_rate=pace.rate(0, last),
        slowest_rate=pace.slowest(window),
        broker_cpu_us=1e6 * cpu_s / last,
        client_cpu_us=1e6 * client_cpu_s / last,
        restarts=tuple(restarts),
    )


def _fill(contestant: Contestant, backlog: Backlog) -> Pace:
    return fill(
        contestant,
        Ring.round_robin(backlog.queue_names, backlog.body_bytes),
        backlog.messages,
        lambda confirmed: say(
            f"{contestant.name}: {confirmed:,} of {backlog.messages:,} confirmed,"
            f" RSS {contestant.rss_mib():,.0f} MiB"
        ),
    )


def table(figures: Sequence[Figures]) -> str:
    """The figures as a Markdown table."""
    return markdown(HEADER, [_row(each) for each in figures])


def _row(f: Figures) -> list[str]:
    per_message = f.rss_growth_mib * 2**20 / f.backlog.messages
    return [
        f.name,
        f"{f.backlog.messages:,} / {f.backlog.queues:,}",
        f"{f.rss_growth_mib:,.0f} MiB ({per_message:,.0f} B a message)",
        f"{f.first_rate:,.0f} / {f.last_rate:,.0f} ({f.last_rate / f.first_rate:.2f})",
        f"{f.mean_rate:,.0f} / {f.slowest_rate:,.0f}",
        f"{f.broker_cpu_us:.1f} / {f.client_cpu_us:.1f} us",
        *(f"{r.ready_s:.2f} / {r.first_delivery_s:.2f} s" for r in f.restarts),
        " / ".join(f"{r.recovered:,}" for r in f.restarts),
    ]


def backlog(
    messages: int = typer.Option(10_000_000, min=2, help="Messages that are filled in."),
    queues: list[int] = typer.Option([1], min=1, help="Over so many queues; again for another."),
    body_bytes: int = typer.Option(100, min=0, max=BODY_BYTES_MAX, help="Bytes of each body."),
    rabbitmq_messages: int = typer.Option(1_000_000, min=2, help="The same for RabbitMQ."),
    alone: bool = typer.Option(False, help="The reference broker only."),
    json_file: JsonFile = None,
) -> None:
    """Ready messages in durable queues: RSS, publish rate, and restart clean and by kill -9."""
    kind = disk_kind()
    figures = []
    for count in queues:
        ours = Backlog(messages, count, body_bytes)
        with _reference(ours) as server:
            figures.append(measure(server, ours))
        if not alone:
            with rabbitmq_server() as rabbitmq:
                figures.append(measure(rabbitmq, Backlog(rabbitmq_messages, count, body_bytes)))
    window = figures[0].backlog.window
    print(
        f"{body_bytes} B bodies, persistent, confirmed; a window is {window:,} messages; seconds"
        f" from the start of the process; all counts as confirmed; data on {kind}.\n"
    )
    print(table(figures))
    write_json(json_file, figures)


@contextmanager
def _reference(backlog: Backlog) -> Iterator[Server]:
    needed = backlog.messages * (backlog.body_bytes + RECORD_OVERHEAD_BYTES) + 2**30
    with data_folder(needed) as folder, reference_server(folder) as server:
        yield server
