"""Counts in words."""

from __future__ import annotations

from mqkit.topology.wiring.counts import counted


def test_counted() -> None:
    assert [counted(n, "message") for n in (0, 1, 2)] == ["0 messages", "1 message", "2 messages"]
