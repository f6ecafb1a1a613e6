"""The line of a finding: the object's, the key's, the owner's."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.topology import loads
from mqkit.topology.doctor.finding import Check, Finding, Kind, Mend
from mqkit.topology.doctor.places import Places

TOPOLOGY = loads(
    "exchanges:\n  x: {}\nqueues:\n  x:\n    max_length: 5\n    retry: {after: [5s]}\n", "t.yaml"
)


@pytest.mark.parametrize(
    ("kind", "name", "more", "place"),
    [
        (Kind.EXCHANGE, "x", {}, "t.yaml:2"),
        (Kind.QUEUE, "x", {}, "t.yaml:4"),
        (Kind.QUEUE, "x", {"keys": ("overflow", "max_length")}, "t.yaml:5"),
        (Kind.QUEUE, "x.retry.5s", {"keys": ("retry",)}, "t.yaml:6"),
        (Kind.QUEUE, "x.retry.9s", {"keys": ("retry",), "owner": "x"}, "t.yaml:6"),
        (Kind.QUEUE, "gone", {}, ""),
    ],
)
def test_place(kind: Kind, name: str, more: dict[str, Any], place: str) -> None:
    finding = Finding(Check.REFUSED, kind, name, "why", Mend("run"), **more)
    assert Places(TOPOLOGY).put(finding).place == place
