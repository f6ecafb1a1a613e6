"""Faults of a topology as text: places, order, and hints."""

from __future__ import annotations

import pytest

from mqkit.topology.file.fault import MAX_FAULTS_SHOWN, Fault, meant, topology_error


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
