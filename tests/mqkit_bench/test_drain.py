"""mqkit_bench.drain: what was confirmed is what was acked and what is left, either round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mqkit_bench.contestant import Contestant
from mqkit_bench.drain import HEADER, Depth, Round, Standing, Traffic, compete, one_round, table
from mqkit_bench.report import Discrepancy
from mqkit_bench.server import ReferenceServer

TRAFFIC = Traffic(body_bytes=100, publish_rate=1000)


@pytest.mark.slow
def test_both_kinds_take_turns(server: ReferenceServer, server_folder: Path) -> None:
    depths = [Depth("memory", 300, 3, on_disk=False), Depth("disk", 2000, 1, on_disk=True)]
    standings = compete(server.contestant, server_folder, depths, TRAFFIC, rounds=1)
    for standing, depth in zip(standings, depths, strict=True):
        assert standing.depth is depth
        (result,) = standing.rounds
        filled = depth.messages * depth.drains
        assert filled <= result.acked <= result.published
        assert result.published > filled, "the second publisher published too"
        assert result.messages <= result.acked
        assert result.rate > 0


@pytest.mark.slow
def test_messages_that_are_not_there_are_noticed(
    server: ReferenceServer, server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_too_little(*_: Any) -> None:
        return

    monkeypatch.setattr("mqkit_bench.drain.fill", fill_too_little)
    depth = Depth("disk", 2_000_000, 1, on_disk=False)
    with pytest.raises(Discrepancy, match="2,000,000 messages confirmed, only"):
        one_round(server.contestant, server_folder, depth, TRAFFIC)


def test_the_table_names_the_ratio() -> None:
    memory = Round(1000, 1.0, 0.01, 0.001, 0.0, 1000, 1000, [1.0])
    disk = Round(1600, 2.0, 0.02, 0.002, 1.5, 1600, 1600, [])
    lines = table(
        [
            Standing(Depth("m", 1000, 1, on_disk=False), [memory]),
            Standing(Depth("d", 1600, 1, on_disk=True), [disk, disk]),
        ]
    ).splitlines()
    assert {line.count("|") for line in lines[:4]} == {len(HEADER) + 1}
    assert lines[2] == "| m | 1,000 (1,000-1,000) | 10.0 us | 1.0 us | 100.0% | 0 MiB |"
    assert lines[3].endswith("| not told | 2 MiB |")
    assert lines[-1] == "From disk: 0.80x the rate from memory."


def test_residency_is_told_where_the_broker_says_so(
    contestant: Contestant, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert contestant.resident_share("no such queue") is None
    row = {"name": "q", "messages": 4, "messages_ram": 1}
    monkeypatch.setattr(Contestant, "_get", lambda *_: [row])
    assert contestant.resident_share("q") == 0.25
