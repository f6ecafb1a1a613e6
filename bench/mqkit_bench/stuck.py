"""``stuck``: one message that nobody acks in each segment of the log, and the disk that it costs.

Between two such messages goes a segment's worth of others, which are consumed and acked.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import typer

from mqkit_bench.consumer import Subscription
from mqkit_bench.contestant import Contestant, Counts
from mqkit_bench.data_folder import Usage, data_folder, disk_kind, usage
from mqkit_bench.filler import fill
from mqkit_bench.message import BODY_BYTES_MAX, publish_frames
from mqkit_bench.report import Discrepancy, JsonFile, markdown, say, write_json
from mqkit_bench.ring import Ring
from mqkit_bench.server import reference_server
from mqkit_bench.session import Session
from mqkit_bench.tasks import Drained, drain, hold
from mqkit_bench.worker import Worker
from reference_broker.store.format.segment import SEGMENT_BYTES

STUCK_QUEUE = "bench.stuck"
THROUGH_QUEUE = "bench.through"
PREFETCH = 65_535
"""The most messages that the holder may be asked to hold: what basic.qos can say."""
LIVE_FACTOR = 2
SEGMENTS_BESIDE = 2
"""The bound: twice the live bytes, and two segments beside."""
WATCH_INTERVAL_S = 0.25
MIB = 2**20
HEADER = (
    "stuck messages",
    "written",
    "live",
    "bound",
    "peak while filling",
    "at the last ack",
    "after {watch:g} s: size / allocated / files",
    "of the bound",
    "under it after",
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """``segments`` messages of ``stuck_bytes``, after each a segment of ``body_bytes`` ones."""

    segments: int
    stuck_bytes: int
    body_bytes: int

    @property
    def others(self) -> int:
        """Messages after each stuck one. Their bodies alone fill a segment, so no two stuck ones
        are in the same."""
        return -(-SEGMENT_BYTES // self.body_bytes)

    @property
    def messages(self) -> int:
        return self.segments * (1 + self.others)

    @property
    def written_bytes(self) -> int:
        return self.segments * (self.stuck_bytes + self.others * self.body_bytes)

    @property
    def live_bytes(self) -> int:
        """Bodies of what is unacked in the end."""
        return self.segments * self.stuck_bytes

    @property
    def bound_bytes(self) -> int:
        largest = max(SEGMENT_BYTES, self.stuck_bytes, self.body_bytes)
        return LIVE_FACTOR * self.live_bytes + SEGMENTS_BESIDE * largest

    def ring(self) -> Ring:
        stuck = publish_frames(STUCK_QUEUE, self.stuck_bytes)
        other = publish_frames(THROUGH_QUEUE, self.body_bytes)
        return Ring([stuck, *[other] * self.others])


@dataclass(frozen=True, slots=True)
class Figures:
    """Disk use, and after how many seconds from the last ack it stayed under the bound."""

    pattern: Pattern
    live_bytes: int
    bound_bytes: int
    peak: Usage
    at_last_ack: Usage
    watched_s: float
    final: Usage
    under_bound_s: float | None

    @property
    def final_bytes(self) -> int:
        """The larger of what the files say and what they take."""
        return largest(self.final)


def largest(found: Usage) -> int:
    return max(found.size_bytes, found.allocated_bytes)


def measure(contestant: Contestant, folder: Path, pattern: Pattern, watch_s: float) -> Figures:
    """Fill while one consumer holds and one acks, watch the folder, then take what was held.

    Raises :exc:`Discrepancy` when a message is missing, or one too many.
    """
    with closing(Session(contestant.address)) as control:
        control.declare(STUCK_QUEUE)
        control.declare(THROUGH_QUEUE)
        stuck = Subscription(STUCK_QUEUE, pattern.stuck_bytes, PREFETCH, ack_every=0)
        through = Subscription(THROUGH_QUEUE, pattern.body_bytes)
        with (
            Worker(hold, contestant.address, stuck, pattern.segments) as holder,
            Worker(drain, contestant.address, through) as drainer,
        ):
            drainer.tell(pattern.segments * pattern.others)
            peak = _fill(contestant, folder, pattern)
            drained: Drained = drainer.report()
            last_ack = time.perf_counter()
            at_last_ack = usage(folder)
            held = holder.report()
            if (drained.acked, held) != (pattern.segments * pattern.others, pattern.segments):
                raise Discrepancy(
                    f"of {pattern.messages:,} messages {drained.acked:,} were acked and"
                    f" {held:,} are held"
                )
            contestant.expect([STUCK_QUEUE], Counts(0, pattern.segments))
            contestant.expect([THROUGH_QUEUE], Counts(0, 0))
            final, under_bound_s = _watch(folder, pattern.bound_bytes, last_ack, watch_s)
        _take_back(contestant, pattern)
        control.delete(STUCK_QUEUE)
        control.delete(THROUGH_QUEUE)
    return Figures(
        pattern=pattern,
        live_bytes=pattern.live_bytes,
        bound_bytes=pattern.bound_bytes,
        peak=peak,
        at_last_ack=at_last_ack,
        watched_s=watch_s,
        final=final,
        under_bound_s=under_bound_s,
    )


def _fill(contestant: Contestant, folder: Path, pattern: Pattern) -> Usage:
    """Publish all; the largest use that was seen."""
    seen = [usage(folder)]

    def look(confirmed: int) -> None:
        seen.append(usage(folder))
        say(
            f"{confirmed:,} of {pattern.messages:,} confirmed, {largest(seen[-1]) / MIB:,.0f} MiB"
            f" in {seen[-1].files} files"
        )

    fill(contestant, pattern.ring(), pattern.messages, look)
    seen.append(usage(folder))
    return max(seen, key=largest)


def _watch(
    folder: Path, bound_bytes: int, since: float, watch_s: float
) -> tuple[Usage, float | None]:
    """Look until ``watch_s`` have passed: the last use, and from when on it was under the bound."""
    under_s: float | None = None
    while True:
        found, passed = usage(folder), time.perf_counter() - since
        if largest(found) >= bound_bytes:
            under_s = None
        elif under_s is None:
            under_s = passed
        if passed >= watch_s:
            return found, under_s
        time.sleep(min(WATCH_INTERVAL_S, watch_s - passed))


def _take_back(contestant: Contestant, pattern: Pattern) -> None:
    """Check that all held messages have come back, and ack them."""
    contestant.expect([STUCK_QUEUE], Counts(pattern.segments, 0))
    subscription = Subscription(STUCK_QUEUE, pattern.stuck_bytes)
    with Worker(drain, contestant.address, subscription) as drainer:
        drainer.tell(pattern.segments)
        acked = drainer.report().acked
    if acked != pattern.segments:
        raise Discrepancy(f"{pattern.segments:,} messages were held, {acked:,} came back")


def table(figures: Figures) -> str:
    """The figures as a Markdown table."""
    f = figures
    under = "not in that time" if f.under_bound_s is None else f"{f.under_bound_s:.1f} s"
    row = [
        f"{f.pattern.segments:,} of {f.pattern.stuck_bytes:,} B",
        f"{f.pattern.written_bytes / MIB:,.0f} MiB",
        f"{f.live_bytes / MIB:,.2f} MiB",
        f"{f.bound_bytes / MIB:,.2f} MiB",
        f"{largest(f.peak) / MIB:,.1f} MiB",
        f"{largest(f.at_last_ack) / MIB:,.1f} MiB",
        f"{f.final.size_bytes / MIB:,.1f} MiB / {f.final.allocated_bytes / MIB:,.1f} MiB"
        f" / {f.final.files}",
        f"{f.final_bytes / f.bound_bytes:.2f}",
        under,
    ]
    return markdown([title.format(watch=f.watched_s) for title in HEADER], [row])


def stuck(
    segments: int = typer.Option(1000, min=1, max=PREFETCH, help="Segments with a stuck message."),
    stuck_bytes: int = typer.Option(1024, min=1, max=BODY_BYTES_MAX, help="Bytes of its body."),
    body_bytes: int = typer.Option(
        65_536, min=1, max=BODY_BYTES_MAX, help="Bytes of each other body."
    ),
    watch_seconds: float = typer.Option(30.0, min=0, help="How long after the last ack."),
    json_file: JsonFile = None,
) -> None:
    """One unacked message in each segment of the log, all else acked: what is left on disk."""
    kind = disk_kind()
    pattern = Pattern(segments, stuck_bytes, body_bytes)
    # A broker that can't rewrite segments keeps all of it.
    needed = int(1.1 * pattern.written_bytes) + 2**30
    with data_folder(needed) as folder, reference_server(folder) as server:
        figures = measure(server.contestant, folder, pattern, watch_seconds)
    print(
        f"{stuck_bytes} B held by a consumer in each of {segments:,} segments of"
        f" {SEGMENT_BYTES // MIB} MiB, {body_bytes} B bodies in between, all acked; bound"
        f" {LIVE_FACTOR} x live bodies + {SEGMENTS_BESIDE} segments; data on {kind}.\n"
    )
    print(table(figures))
    write_json(json_file, [figures])
