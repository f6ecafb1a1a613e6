"""``mqkit topology graph``: the picture of a file or a broker, as text for Mermaid or Graphviz."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated

import typer

from mqkit.topology import Snapshot, Topology, Wiring, graph_of, load, to_dot, to_mermaid
from mqkit.topology.wiring.parts import parts_in_file
from mqkit_cli.connection import TIMEOUT_S, ManagementUrlOption, TimeoutOption, UrlOption
from mqkit_cli.errors import CommandError
from mqkit_cli.render import line
from mqkit_cli.topology.looked_at import LookedAtOption, files_of, snapshot_of


class Format(StrEnum):
    """The language of the text."""

    MERMAID = "mermaid"
    DOT = "dot"


_RENDERERS = {Format.MERMAID: to_mermaid, Format.DOT: to_dot}


def graph(
    files: LookedAtOption = None,
    language: Annotated[
        Format, typer.Option("--format", help="The language of the text.")
    ] = Format.MERMAID,
    fold: Annotated[
        bool,
        typer.Option(
            "--fold/--unfold", help="Tiers, lots and delays within their owner's node, or apart."
        ),
    ] = True,
    live: Annotated[
        bool, typer.Option("--live", help="Draw what the broker has, not what the file declares.")
    ] = False,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
) -> None:
    """Draw exchanges, queues, bindings and dead letters, as text.

    Draws a file; where a broker is named, with the messages and consumers of its queues; without
    --file, what that broker has.
    """
    is_named = bool(url or management_url)
    if live and not is_named:
        raise CommandError("--live draws a broker: name one with --url")
    read = files_of(files, is_needed=not is_named)
    topology = load(*read) if read else None
    snapshot = None
    if is_named:
        snapshot = asyncio.run(snapshot_of(topology, url, management_url, timeout_s))
    drawn = graph_of(_wiring(topology, snapshot, live=live), fold=fold)
    line(_RENDERERS[language](drawn).rstrip("\n"))


def _wiring(topology: Topology | None, snapshot: Snapshot | None, *, live: bool) -> Wiring:
    if topology is None or (live and snapshot is not None):
        assert snapshot is not None
        return Wiring.of_snapshot(
            snapshot, parts=None if topology is None else parts_in_file(topology)
        )
    return Wiring.of_topology(topology).counted_by(snapshot)
