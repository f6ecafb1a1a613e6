"""``drain``: how fast a backlog on disk is handed out, beside one that is in memory, while somebody
else publishes to the same queue.

Both kinds take turns, with the same consumer and the same publisher. Before a drain from disk the
files are dropped from the page cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import typer

from mqkit_bench.consumer import Subscription
from mqkit_bench.contestant import Contestant, Counts
from mqkit_bench.data_folder import data_folder, disk_kind, evict
from mqkit_bench.filler import fill
from mqkit_bench.message import BODY_BYTES_MAX
from mqkit_bench.report import Discrepancy, JsonFile, markdown, say, write_json
from mqkit_bench.ring import Ring
from mqkit_bench.server import reference_server
from mqkit_bench.session import Session
from mqkit_bench.tasks import Drained, drain, publish_at
from mqkit_bench.worker import Worker

QUEUE = "bench.drain"
PREFETCH = 256
ACK_EVERY = 64
"""Small beside the backlog in memory, of which a prefetch is delivered before any ack is needed."""
MEMORY_DRAINS = 20
"""A backlog that fits in memory is small, so a round drains it so many times."""
HEADER = (
    "backlog",
    "delivered/s (min-max)",
    "broker CPU / message",
    "consumer CPU / message",
    "in memory at the start",
    "read from disk",
)


@dataclass(frozen=True, slots=True)
class Depth:
    """A kind of backlog: so many messages, drained so many times in a round."""

    name: str
    messages: int
    drains: int
    on_disk: bool


@dataclass(frozen=True, slots=True)
class Traffic:
    """The fields common to both kinds of traffic. ``publish_rate`` is messages a second."""

    body_bytes: int
    publish_rate: float

    @property
    def subscription(self) -> Subscription:
        return Subscription(QUEUE, self.body_bytes, PREFETCH, ACK_EVERY)


@dataclass(slots=True)
class Round:
    """One kind's figures in one round, over all its drains."""

    messages: int = 0
    seconds: float = 0.0
    broker_cpu_s: float = 0.0
    consumer_cpu_s: float = 0.0
    disk_read_mib: float = 0.0
    acked: int = 0
    published: int = 0
    resident_shares: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.messages / self.seconds

    def add(self, drained: Drained) -> None:
        self.messages += drained.messages
        self.seconds += drained.seconds
        self.consumer_cpu_s += drained.cpu_s
        self.acked += drained.acked


@dataclass(frozen=True, slots=True)
class Standing:
    """A kind's rounds, and their medians."""

    depth: Depth
    rounds: list[Round]

    @property
    def rate(self) -> float:
        return median(r.rate for r in self.rounds)


def one_round(contestant: Contestant, folder: Path, depth: Depth, traffic: Traffic) -> Round:
    """Fill and drain. Raises :exc:`Discrepancy` when what was confirmed, by the filler and by the
    other publisher, is not what was acked and what is left."""
    result = Round()
    with closing(Session(contestant.address)) as control:
        control.declare(QUEUE)
        with (
            Worker(
                publish_at, contestant.address, QUEUE, traffic.body_bytes, traffic.publish_rate
            ) as publisher,
            Worker(drain, contestant.address, traffic.subscription) as consumer,
        ):
            publisher.report()
            for _ in range(depth.drains):
                _fill(contestant, depth, traffic)
                result.published += depth.messages
                _drain_once(contestant, folder, depth, control.ready(QUEUE), consumer, result)
            publisher.tell("stop")
            result.published += publisher.report()
        contestant.expect([QUEUE], Counts(result.published - result.acked, 0))
        control.delete(QUEUE)
    return result


def _fill(contestant: Contestant, depth: Depth, traffic: Traffic) -> None:
    ring = Ring.round_robin([QUEUE], traffic.body_bytes)
    progress = f"{depth.name}: {{:,}} of {depth.messages:,} confirmed".format
    fill(contestant, ring, depth.messages, lambda confirmed: say(progress(confirmed)))


def _drain_once(
    contestant: Contestant,
    folder: Path,
    depth: Depth,
    messages: int,
    consumer: Worker,
    result: Round,
) -> None:
    if messages < depth.messages:
        raise Discrepancy(f"{depth.messages:,} messages confirmed, only {messages:,} are ready")
    share = contestant.resident_share(QUEUE)
    if share is not None:
        result.resident_shares.append(share)
    if depth.on_disk:
        evict(folder)
    cpu_s, read_mib = contestant.cpu_s(), contestant.disk_read_mib()
    consumer.tell(messages)
    result.add(consumer.report())
    result.broker_cpu_s += contestant.cpu_s() - cpu_s
    result.disk_read_mib += contestant.disk_read_mib() - read_mib


def compete(
    contestant: Contestant,
    folder: Path,
    depths: Sequence[Depth],
    traffic: Traffic,
    rounds: int,
) -> list[Standing]:
    """Alternating rounds of both kinds."""
    standings = [Standing(depth, []) for depth in depths]
    for number in range(1, rounds + 1):
        for standing in standings:
            result = one_round(contestant, folder, standing.depth, traffic)
            standing.rounds.append(result)
            say(f"round {number}: {standing.depth.name}: {result.rate:,.0f} messages/s")
    return standings


def table(standings: Sequence[Standing]) -> str:
    """The figures as a Markdown table, with the ratio of disk (last) to memory (first)."""
    text = markdown(HEADER, [_row(standing) for standing in standings])
    memory, disk = standings[0], standings[-1]
    return f"{text}\n\nFrom disk: {disk.rate / memory.rate:.2f}x the rate from memory."


def _row(standing: Standing) -> list[str]:
    rounds = standing.rounds
    rates = [r.rate for r in rounds]
    shares = [share for r in rounds for share in r.resident_shares]
    return [
        standing.depth.name,
        f"{standing.rate:,.0f} ({min(rates):,.0f}-{max(rates):,.0f})",
        f"{median(1e6 * r.broker_cpu_s / r.messages for r in rounds):.1f} us",
        f"{median(1e6 * r.consumer_cpu_s / r.messages for r in rounds):.1f} us",
        f"{median(shares):.1%}" if shares else "not told",
        f"{median(r.disk_read_mib for r in rounds):,.0f} MiB",
    ]


def drain_backlog(
    gib: float = typer.Option(2.0, min=0.001, help="Bodies of the backlog on disk, in GiB."),
    memory_mib: float = typer.Option(
        4.0, min=0.1, help="Bodies of the one in memory, in MiB: less than the broker keeps there."
    ),
    body_bytes: int = typer.Option(1024, min=1, max=BODY_BYTES_MAX, help="Bytes of each body."),
    publish_rate: float = typer.Option(5000.0, min=1, help="The second publisher's messages/s."),
    rounds: int = typer.Option(3, min=1, help="Alternating rounds."),
    json_file: JsonFile = None,
) -> None:
    """Drain a backlog from disk, with a publisher beside it, against the rate from memory."""
    kind = disk_kind()
    traffic = Traffic(body_bytes, publish_rate)
    depths = (
        Depth(
            f"{memory_mib:g} MiB in memory, {MEMORY_DRAINS} times",
            max(1, int(memory_mib * 2**20 / body_bytes)),
            MEMORY_DRAINS,
            on_disk=False,
        ),
        Depth(f"{gib:g} GiB on disk", max(1, int(gib * 2**30 / body_bytes)), 1, on_disk=True),
    )
    # Files of a round may still be there when the next one fills.
    with data_folder(int(3 * gib * 2**30) + 2**30) as folder, reference_server(folder) as server:
        standings = compete(server.contestant, folder, depths, traffic, rounds)
    print(
        f"{body_bytes} B bodies, persistent, confirmed; acks every"
        f" {traffic.subscription.ack_every} (prefetch {traffic.subscription.prefetch}); a second"
        f" process publishes {publish_rate:,.0f} a second; {rounds} alternating rounds, medians;"
        f" data on {kind}, out of the page cache before a drain from disk.\n"
    )
    print(table(standings))
    write_json(json_file, standings)
