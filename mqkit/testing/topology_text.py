"""The topology of a test's virtual host as text, without the name of the virtual host, which is
another in each test."""

from __future__ import annotations

from dataclasses import replace

from mqkit.topology.exporting.emit import emit
from mqkit.topology.exporting.folding import to_topology
from mqkit.topology.snapshot import Snapshot


def text_of(snapshot: Snapshot) -> str:
    """``snapshot`` as YAML, which a topology file could be."""
    return emit(replace(to_topology(snapshot), vhost=None))
