from __future__ import annotations

from mutants.hunting import Hunt
from mutants.table import line_of, table_of


def test_a_line_says_who_found_it_and_what_others_said_before() -> None:
    line = line_of(Hunt("store.x", "acks", 12, {"acks": 1, "order": 2}))
    assert line.split() == ["store.x", "acks", "12", "seeds", "before:", "order", "2"]
    assert "NOT FOUND" in line_of(Hunt("store.y", "", 200, {}))


def test_the_table_has_a_row_for_each_law() -> None:
    table = table_of(
        [
            Hunt("store.x", "acks", 12, {"acks": 1}),
            Hunt("runs.y", "acks", 1, {"acks": 1}),
            Hunt("runs.z", "order", 4, {"order": 1}),
            Hunt("runs.none", "", 200, {}),
        ]
    )
    assert table.splitlines() == [
        "| law | finds bugs in | median of seeds | most seeds |",
        "|---|---|---|---|",
        "| acks | runs 1, store 1 | 6.5 | 12 |",
        "| order | runs 1 | 4 | 4 |",
        "",
        "3 of 4 mutants found",
        "NOT FOUND  runs.none in 200 seeds",
    ]
