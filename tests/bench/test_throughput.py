"""bench.throughput: the table."""

from __future__ import annotations

from bench.rounds import Round, Standing
from bench.throughput import table


def test_the_table_names_the_ratio() -> None:
    ours = Round(80_000, 1.0, 2.0, 10.0, 0.5, 70.0, 400_000)
    theirs = Round(20_000, 5.0, 9.0, 50.0, 4.0, 180.0, 100_000)
    lines = table(
        [Standing("a", ours, (1.0, 2.0), 800.0), Standing("b", theirs, (1.0, 2.0), 1000.0)]
    ).splitlines()
    assert len({line.count("|") for line in lines[:4]}) == 1
    assert lines[-1] == "a: 4.00x the throughput of b, with 0.20x its CPU per message."
