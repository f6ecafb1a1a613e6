from __future__ import annotations

from collections import Counter

from interop.differential.search import Tally
from interop.suites.verdict import Result, judge
from interop.summary import summary

THERE = {"a": Result("passed", True), "b": Result("passed", True), "c": Result("passed", False)}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_a_suite_has_a_line() -> None:
    here = {**THERE, "b": Result("failed", True)}
    lines = summary([judge("aio-pika", THERE, here, {"b": "because"})]).splitlines()
    assert cells(lines[0])[0] == "suite"
    assert [cells(line) for line in lines[1:]] == [["aio-pika", "3", "3", "2", "2", "1"]]


def test_the_sequences_have_one_and_name_what_differed_on_purpose() -> None:
    tally = Tally(compared=20, races=1, on_purpose=Counter({"odd type": 2, "an answer": 1}))
    line = summary([judge("amqp", THERE, THERE, {})], tally).splitlines()[1]
    told = "3 (an answer 1, odd type 2)"
    assert cells(line) == ["generated sequences", "20", "20", "17", "20", told]


def test_a_sequence_that_differed_did_not_pass_here() -> None:
    line = summary([], Tally(compared=7, differed=1)).splitlines()[1]
    assert cells(line) == ["generated sequences", "7", "7", "6", "7", "0"]
