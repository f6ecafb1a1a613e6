"""``python -m bench``: the reference broker beside RabbitMQ, in one run."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import typer

from bench.contestant import file_system, rabbitmq_server, reference_broker
from bench.load import Workload
from bench.rounds import Standing, compete
from mqkit.testing.rabbitmq_node import NodeFailed


def table(standings: list[Standing]) -> str:
    """The figures as a Markdown table, with the ratio of the first two contestants."""
    lines = [
        "| broker | messages/s (min-max) | confirm p50 / p99 | broker CPU / message"
        " | client CPU / message | RSS | messages / fdatasync |",
        "|---|---|---|---|---|---|---|",
    ]
    for s in standings:
        m = s.median
        lines.append(
            f"| {s.name} | {m.rate:,.0f} ({s.rate_range[0]:,.0f}-{s.rate_range[1]:,.0f})"
            f" | {m.confirm_p50_ms:.1f} / {m.confirm_p99_ms:.1f} ms | {m.broker_cpu_us:.1f} us"
            f" | {m.client_cpu_us:.1f} us | {m.rss_mib:,.0f} MiB | {s.messages_per_sync:,.0f} |"
        )
    if len(standings) > 1:
        ours, theirs = standings[0].median, standings[1].median
        lines.append(
            f"\n{standings[0].name}: {ours.rate / theirs.rate:.2f}x the throughput of"
            f" {standings[1].name}, with {ours.broker_cpu_us / theirs.broker_cpu_us:.2f}x its CPU"
            " per message."
        )
    return "\n".join(lines)


def say(line: str) -> None:
    """Progress, apart from the result on stdout."""
    print(line, file=sys.stderr, flush=True)


def main(
    rounds: int = typer.Option(5, min=1, help="Rounds that count, after one that does not."),
    seconds: float = typer.Option(5.0, min=0.5, help="Seconds of publishing in each round."),
    body_bytes: int = typer.Option(1024, min=0, help="Bytes of each message's body."),
    alone: bool = typer.Option(False, help="The reference broker only: a profile, not a result."),
) -> None:
    """Publish with confirms and consume with acks, persistent, one queue, on both brokers."""
    temporary = Path(tempfile.gettempdir()).resolve()
    kind = file_system(temporary)
    if kind in {"tmpfs", "ramfs"}:
        raise typer.BadParameter(
            f"{temporary} is on {kind}, where a sync costs nothing: set TMPDIR to a disk"
        )
    workload = Workload(seconds=seconds, body_bytes=body_bytes)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mqkit-bench-"))
        contestants = [stack.enter_context(reference_broker(Path(folder)))]
        if not alone:
            try:
                contestants.append(stack.enter_context(rabbitmq_server()))
            except NodeFailed as why:
                print(f"no RabbitMQ to compare with: {why}", file=sys.stderr)
                raise SystemExit(1) from None
        standings = compete(contestants, workload, rounds, say)
    print(
        f"{body_bytes} B bodies, persistent, confirms (window {workload.confirm_window}), acks"
        f" every {workload.ack_every} (prefetch {workload.prefetch}); {rounds} alternating rounds"
        f" of {seconds:g} s, medians; data on {kind}.\n"
    )
    print(table(standings))


if __name__ == "__main__":
    typer.run(main)
