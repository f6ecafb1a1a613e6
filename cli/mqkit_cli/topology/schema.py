"""``mqkit topology schema``."""

from __future__ import annotations

from mqkit.topology import topology_schema
from mqkit_cli.render import write_json


def schema() -> None:
    """Print the JSON Schema of topology files, by which an editor completes and underlines.

    Keep it beside a topology (> topology.schema.json), and begin the topology with the line
    `# yaml-language-server: $schema=topology.schema.json`.
    """
    write_json(topology_schema())
