"""``throughput``: publish with confirms and consume with acks, beside RabbitMQ, in turns."""

from __future__ import annotations

from contextlib import ExitStack

import typer

from bench.data_folder import data_folder, disk_kind
from bench.load import Workload
from bench.report import JsonFile, markdown, say, write_json
from bench.rounds import Standing, compete
from bench.server import rabbitmq_server, reference_server

HEADER = (
    "broker",
    "messages/s (min-max)",
    "confirm p50 / p99",
    "broker CPU / message",
    "client CPU / message",
    "RSS",
    "messages / fdatasync",
)


def table(standings: list[Standing]) -> str:
    """The figures as a Markdown table, with the ratio of the first two contestants."""
    rows = []
    for s in standings:
        m = s.median
        rows.append(
            (
                s.name,
                f"{m.rate:,.0f} ({s.rate_range[0]:,.0f}-{s.rate_range[1]:,.0f})",
                f"{m.confirm_p50_ms:.1f} / {m.confirm_p99_ms:.1f} ms",
                f"{m.broker_cpu_us:.1f} us",
                f"{m.client_cpu_us:.1f} us",
                f"{m.rss_mib:,.0f} MiB",
                f"{s.messages_per_sync:,.0f}",
            )
        )
    text = markdown(HEADER, rows)
    if len(standings) > 1:
        ours, theirs = standings[0].median, standings[1].median
        text += (
            f"\n\n{standings[0].name}: {ours.rate / theirs.rate:.2f}x the throughput of"
            f" {standings[1].name}, with {ours.broker_cpu_us / theirs.broker_cpu_us:.2f}x its CPU"
            " per message."
        )
    return text


def throughput(
    rounds: int = typer.Option(5, min=1, help="Rounds that count, after one that does not."),
    seconds: float = typer.Option(5.0, min=0.5, help="Seconds of publishing in each round."),
    body_bytes: int = typer.Option(1024, min=0, help="Bytes of each message's body."),
    alone: bool = typer.Option(False, help="The reference broker only: a profile, not a result."),
    json_file: JsonFile = None,
) -> None:
    """Publish with confirms and consume with acks, persistent, one queue, on both brokers."""
    kind = disk_kind()
    workload = Workload(seconds=seconds, body_bytes=body_bytes)
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        servers = [stack.enter_context(reference_server(folder)).contestant]
        if not alone:
            servers.append(stack.enter_context(rabbitmq_server()).contestant)
        standings = compete(servers, workload, rounds, say)
    print(
        f"{body_bytes} B bodies, persistent, confirms (window {workload.confirm_window}), acks"
        f" every {workload.ack_every} (prefetch {workload.prefetch}); {rounds} alternating rounds"
        f" of {seconds:g} s, medians; data on {kind}.\n"
    )
    print(table(standings))
    write_json(json_file, standings)
