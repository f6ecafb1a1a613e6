"""``mqkit cluster``: several brokers on this machine that are one, and an etcd for them."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from mqkit_cli.cluster.restoring import restore_metadata
from mqkit_cli.errors import CommandError
from mqkit_cli.render import line, note

if TYPE_CHECKING:
    from types import FrameType

    from mqkit.testing.cluster import Cluster

LOOK_EVERY_S = 0.5
"""Seconds between two looks at whether all nodes are there."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

app = typer.Typer(
    help="Several brokers that are one: exchanges, queues, users and policies on all nodes.",
    short_help="Several brokers that are one.",
    no_args_is_help=True,
)


app.command()(restore_metadata)


@app.command()
def dev(
    nodes: Annotated[int, typer.Option(min=1, max=6, help="How many nodes.")] = 3,
    port: Annotated[
        int, typer.Option(min=1, max=65_529, help="The first node's AMQP port; others follow it.")
    ] = 5672,
    management_port: Annotated[
        int,
        typer.Option(min=1, max=65_529, help="The first node's management port; others follow it."),
    ] = 15672,
) -> None:
    """Run a cluster on this machine for trying: an etcd, and some nodes, until Ctrl-C. Its data is
    in a temporary folder, and is gone with it. Needs the program `etcd`."""
    from mqkit.testing.cluster import made_cluster
    from mqkit.testing.etcd import etcd

    if shutil.which("etcd") is None:
        raise CommandError(
            "there is no etcd on this machine, where nodes agree on their definitions: install it"
            " (Debian and Ubuntu: apt install etcd-server)"
        )
    ports = [(port + it, management_port + it) for it in range(nodes)]
    with _asked_to_stop() as asked, _folder() as folder, etcd(progress_every_s=10) as found:
        cluster: Cluster = made_cluster(folder, nodes, found, name="dev", ports=ports)
        try:
            for name in cluster.nodes:  # the first one founds it
                if not asked.is_set():
                    cluster.start(name)
                    line(f"{name}  {cluster[name].ready_line}")
                    sys.stdout.flush()
            note("Ctrl-C ends all of them, and what they have is gone")
            _watch(cluster, asked)
        finally:
            cluster.stop()


def _watch(cluster: Cluster, asked: Event) -> None:
    """Return when it was asked for; say of nodes that have ended that they did."""
    there = list(cluster.nodes.values())
    while not asked.wait(LOOK_EVERY_S):
        for node in [each for each in there if each.has_ended()]:
            there.remove(node)
            note(f"node {node.name!r} has ended: {node.tail()}")


@contextmanager
def _asked_to_stop() -> Iterator[Event]:
    """Set by a signal, for the time of the block: a node that is being started is waited for."""
    asked = Event()

    def ask(number: int, frame: FrameType | None) -> None:
        asked.set()

    before = {number: signal.signal(number, ask) for number in STOP_SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mqkit-cluster-") as name:
        yield Path(name)
