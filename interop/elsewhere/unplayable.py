"""The tests that can't be played on two nodes, by name, with the reason of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

UNPLAYABLE: Mapping[str, str] = {
    "tests/acceptance/test_rabbitmqadmin.py::test_prints_the_same_and_exits_alike": (
        "it gets messages over HTTP, and a node's HTTP API gives none of another node's queue yet"
    ),
}
"""Reasons by the node id of a test, with all of its parameters."""

KNOWN_ELSEWHERE = Path(__file__).with_name("known_differences.toml")
"""Those of other people's suites: see :func:`~interop.suites.verdict.known_differences`."""


def is_unplayable(node_id: str) -> bool:
    """True for a test with a reason."""
    return node_id.partition("[")[0] in UNPLAYABLE
