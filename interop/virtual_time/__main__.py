"""``python -m interop.virtual_time``: exit code 1 when a round was another, or took a second
of CPU time: of real time it may take more where others have the machine, which is told."""

from __future__ import annotations

import logging
from typing import Annotated, Literal

import typer

from interop.command import command, end
from interop.virtual_time.run import CLIENTS, play

ROUND_MAX_CPU_S = 1.0
"""Seconds of CPU time that a round may take."""


def virtual_time(
    times: Annotated[int, typer.Option(min=1, help="So many rounds by each client.")] = 20,
    client: Annotated[
        Literal["mqkit", "mqkit-over-aio-pika", "aio-pika", "pika"] | None,
        typer.Option(help="By one client alone."),
    ] = None,
) -> None:
    """Retry tiers, a time to live, a delay and a timeout, by the virtual clock."""
    logging.disable(logging.CRITICAL)  # handlers that fail are the plot
    end("virtual_time", lambda: _run([client] if client else list(CLIENTS), times))


def _run(clients: list[str], times: int) -> int:
    code = 0
    for client in clients:
        played = play(client, times)
        print(
            f"{client}: {times} rounds of 609 s in {played.whole_s:.1f} s, the longest"
            f" {played.longest_s * 1000:.0f} ms ({played.longest_cpu_s * 1000:.0f} of CPU time);"
            f" {len(played.faults)} were different",
            *played.faults[:10],
            sep="\n  ",
            flush=True,
        )
        if played.faults or played.longest_cpu_s > ROUND_MAX_CPU_S:
            code = 1
    return code


if __name__ == "__main__":
    command(virtual_time, "virtual_time")
