"""The folder of the demo's own records and topology: in the package, or in the repository around
it."""

from __future__ import annotations

from pathlib import Path

from mqkit_cli.errors import CommandError

RECORDS = "flights-20k.json"
TOPOLOGY = "topology.yaml"

_HERE = Path(__file__).resolve().parent
FOLDERS = (_HERE / "flights", _HERE.parents[2] / "examples" / "flights")
"""A wheel carries a copy of ``examples/flights``; an editable install has the repository."""


def example_file(name: str, option: str, folders: tuple[Path, ...] = FOLDERS) -> Path:
    """The file ``name`` of ``examples/flights``.

    Raises :exc:`~mqkit_cli.errors.CommandError`, which names the ``option`` to give instead.
    """
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if found is None:
        raise CommandError(
            f"the demo's own {name} did not come with this install: give {option} FILE"
        )
    return found
