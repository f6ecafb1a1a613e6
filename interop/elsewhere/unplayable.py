"""The tests that can't be played on two nodes, by name, with the reason of each."""

from __future__ import annotations

from collections.abc import Mapping

_OWN_PROCESS = "it starts a broker of its own: it is about that process"

UNPLAYABLE: Mapping[str, str] = {}
"""Reasons by node id, of a test with all of its parameters."""


def is_unplayable(node_id: str) -> bool:
    """True for a test with a reason."""
    return node_id.partition("[")[0] in UNPLAYABLE
