"""Findings as programs get them, and the severity of each check."""

from __future__ import annotations

from mqkit.topology.doctor.finding import SEVERITIES, Check, Finding, Kind, Mend, Severity


def test_a_finding_as_json_values() -> None:
    finding = Finding(
        Check.TIER_LEFT_OVER,
        Kind.QUEUE,
        "q",
        "so",
        Mend("mqkit x"),
        messages=2,
        file="t.yaml",
        line=3,
    )
    assert finding.to_dict() == {
        "check": "tier-left-over",
        "severity": "warning",
        "kind": "queue",
        "name": "q",
        "why": "so",
        "messages": 2,
        "file": "t.yaml",
        "line": 3,
        "first": None,
        "command": "mqkit x",
    }
    assert finding.place == "t.yaml:3"


def test_every_check_has_a_severity_and_the_gravest_is_first() -> None:
    assert set(SEVERITIES) == set(Check)
    assert [severity.rank for severity in Severity] == [0, 1, 2]
    assert Severity.ERROR.rank == 0
