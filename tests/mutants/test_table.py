from __future__ import annotations

from mutants.hunting import Census, Hunt
from mutants.table import census_line_of, census_table_of, line_of, table_of


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


def test_a_census_says_which_law_was_first_in_how_many_seeds() -> None:
    line = census_line_of(Census("store.x", 60, {"acks": 2, "order": 5}))
    assert line.split() == ["store.x", "60", "seeds", "order", "5,", "acks", "2"]
    assert "NOT FOUND" in census_line_of(Census("store.y", 60, {}))


def test_the_table_of_censuses_has_what_a_law_alone_finds() -> None:
    table = census_table_of(
        [
            Census("store.x", 60, {"acks": 2, "order": 5}),
            Census("store.seldom", 60, {"acks": 1}),
            Census("store.often", 60, {"acks": 40}),
            Census("runs.none", 60, {}),
        ]
    )
    assert table.splitlines()[2:] == ["| acks | store.often | 40 of 60 |"]
