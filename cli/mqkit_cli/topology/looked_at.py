"""The file, the broker, or both, that doctor and graph look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from mqkit.topology import Snapshot, Topology
from mqkit_cli.connection import in_vhost, target_of
from mqkit_cli.errors import CommandError
from mqkit_cli.topology.files import FILES

LookedAtOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="The topology, in YAML. Several are laid over each other. [default: topology.yaml,"
        " where no broker is named]",
    ),
]


def files_of(files: Sequence[Path] | None, *, is_needed: bool) -> Sequence[Path]:
    """The files to read; none where a broker is looked at alone. Raises :exc:`CommandError`
    where one is missing."""
    named = files or (FILES if is_needed else ())
    for file in named:
        if file.is_dir() or not file.exists():
            what = "is a directory" if file.is_dir() else "is not there"
            raise CommandError(
                f"the file {file} {what}: name a topology with --file FILE, or a broker with --url"
            )
    return named


async def snapshot_of(
    topology: Topology | None, url: str | None, management_url: str | None, timeout_s: float
) -> Snapshot:
    """The objects of the broker, in the vhost that the file names, if it names one."""
    vhost = None if topology is None else topology.vhost
    return await in_vhost(target_of(url, management_url), vhost).snapshot(timeout_s)
