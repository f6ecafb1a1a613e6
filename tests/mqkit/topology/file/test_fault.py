"""Faults of a topology as text: places, order, and hints."""

from __future__ import annotations

import pytest

from mqkit.topology.file.fault import MAX_FAULTS_SHOWN, Fault, meant, topology_error
from mqkit.topology.file.line import Line


@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        (Fault(7, "queues.q", "wrong"), "t.yaml:7: queues.q: wrong"),
        (Fault(7, "", "wrong"), "t.yaml:7: wrong"),
        (Fault(0, "queues.q", "wrong"), "t.yaml: queues.q: wrong"),
        (Fault(0, "", "wrong"), "t.yaml: wrong"),
    ],
)
def test_a_fault_names_its_place_as_far_as_it_has_one(fault: Fault, shown: str) -> None:
    assert fault.show("t.yaml") == shown


def test_an_error_has_each_fault_once_by_number_of_the_line() -> None:
    late, early = Fault(10, "b", "second"), Fault(9, "c", "first")
    assert str(topology_error("t", [late, early, late])) == "t:9: c: first\nt:10: b: second"


@pytest.mark.parametrize(
    ("count", "last"),
    [
        (MAX_FAULTS_SHOWN, f"t:{MAX_FAULTS_SHOWN}: wrong"),
        (MAX_FAULTS_SHOWN + 2, "t: and 2 more faults"),
    ],
)
def test_faults_above_the_bound_are_counted(count: int, last: str) -> None:
    lines = str(topology_error("t", [Fault(n + 1, "", "wrong") for n in range(count)])).split("\n")
    assert lines[-1] == last
    assert len([line for line in lines if line.endswith(": wrong")]) == MAX_FAULTS_SHOWN


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("durabel", ("type", "durable"), "did you mean 'durable'?"),
        ("xyz", ("type", "durable"), "expected one of type, durable"),
        ("xyz", (), "expected nothing here"),
    ],
)
def test_a_close_word_is_proposed_and_else_all_are_listed(
    word: str, known: tuple[str, ...], hint: str
) -> None:
    assert meant(word, known) == hint


def test_faults_of_several_files_are_in_the_order_of_the_files() -> None:
    first, second = Line(9, 0, "z.yaml"), Line(2, 1, "a.yaml")
    error = topology_error("both", [Fault(second, "p", "late"), Fault(first, "p", "early")])
    assert str(error) == "z.yaml:9: p: early\na.yaml:2: p: late"
    assert [Fault(line, "", "").file for line in (first, second, 2)] == ["z.yaml", "a.yaml", None]


def test_the_same_words_about_two_files_are_two_faults() -> None:
    faults = {Fault(Line(2, rank, name), "p", "wrong") for rank, name in enumerate("ab")}
    assert len(faults) == 2
    assert len(faults | {Fault(Line(2, 0, "a"), "p", "wrong")}) == 2
