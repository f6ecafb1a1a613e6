"""The file, the broker, or both, that doctor and graph look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from mqkit.topology import Snapshot, Topology
from mqkit_cli.connection import in_vhost, target_of
from mqkit_cli.errors import CommandError

DEFAULT_FILE = Path("topology.yaml")

LookedAtOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="The topology, in YAML. [default: topology.yaml, where no broker is named]",
    ),
]


def path_of(file: Path | None, *, is_needed: bool) -> Path | None:
    """The file to read; ``None`` where a broker is looked at alone. Raises :exc:`CommandError`
    where there is no such file."""
    if file is None and not is_needed:
        return None
    path = file or DEFAULT_FILE
    if path.is_dir() or not path.exists():
        what = "is a directory" if path.is_dir() else "is not there"
        raise CommandError(
            f"the file {path} {what}: name a topology with --file FILE, or a broker with --url"
        )
    return path


async def snapshot_of(
    topology: Topology | None, url: str | None, management_url: str | None, timeout_s: float
) -> Snapshot:
    """The objects of the broker, in the vhost that the file names, if it names one."""
    vhost = None if topology is None else topology.vhost
    return await in_vhost(target_of(url, management_url), vhost).snapshot(timeout_s)
