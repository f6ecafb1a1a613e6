"""The option ``-f`` of the topology's commands: one file, or several that are laid over each other.

A command takes ``files: FilesOption = FILES`` and calls :func:`load_topology`; ``topology.file``
names them all in messages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mqkit.topology import Fault, Topology, check_files, load
from mqkit_cli.errors import CommandError

FilesOption = Annotated[
    list[Path],
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="The topology, in YAML. Several are laid over each other: mappings merge, lists and"
        " values are replaced.",
    ),
]
FILES = [Path("topology.yaml")]


def load_topology(files: Sequence[Path]) -> Topology:
    """The topology of ``files``, with the environment's variables.

    Raises :exc:`CommandError` where a file is missing, and
    :exc:`~mqkit.errors.TopologyError` for what is wrong in them.
    """
    _must_be_there(files)
    return load(*files)


def check_topology(files: Sequence[Path]) -> tuple[Topology, list[Fault]]:
    """The topology of ``files``, and every fault of it. Raises :exc:`CommandError` where a file is
    missing."""
    _must_be_there(files)
    return check_files(files)


def _must_be_there(files: Sequence[Path]) -> None:
    for file in files:
        if file.is_dir():
            raise CommandError(f"{file} is a directory: name the topology's file with --file FILE")
        if not os.path.lexists(file):  # of a ring of links, reading says what it is
            raise CommandError(f"there is no file {file}: name the topology with --file FILE")
