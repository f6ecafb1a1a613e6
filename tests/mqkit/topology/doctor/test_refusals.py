"""The faults of validate, as findings."""

from __future__ import annotations

from typing import Any


def test_a_fault_of_meaning_is_told_with_its_line(of_file: Any) -> None:
    text = "queues:\n  a.b:\n    bind: [{from: amq.topic}]\n    max_length: 5\n"
    finding = of_file(text)["refused", "a.b"]
    assert finding.place == "t.yaml:4"
    assert finding.severity == "error"
    assert "overflow: drop-head" in finding.why
    assert finding.mend.command == "mqkit topology validate -f t.yaml"


def test_a_remark_hides_no_fault(of_file: Any) -> None:
    said = of_file("queues:\n  q: {max_length: 5}\n")
    assert {check for check, _ in said} == {"refused", "queue-unreached"}
