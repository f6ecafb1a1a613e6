"""Compares what one suite did on RabbitMQ with what it did on the reference broker."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KNOWN_DIFFERENCES = Path(__file__).with_name("known_differences.toml")
PASSED = "passed"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a test, and true if it connected to the broker."""

    outcome: str
    needs_broker: bool


Results = Mapping[str, Result]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A line of the table. Of what passes there and fails here, ``on_purpose`` have a reason and
    ``regressions`` none; ``unneeded`` are reasons for tests that do not fail any
    more, or are not there."""

    suite: str
    tests: int
    passed_there: int
    passed_here: int
    need_broker: int
    on_purpose: int
    regressions: tuple[str, ...]
    unneeded: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        return not self.regressions and not self.unneeded


def judge(suite: str, there: Results, here: Results, reasons: Mapping[str, str]) -> Verdict:
    """``reasons`` are the suite's known differences: node id to why."""
    worse = fails_only_here(there, here)
    return Verdict(
        suite,
        len(there),
        _passed(there),
        _passed(here),
        sum(result.needs_broker for result in there.values()),
        sum(name in reasons for name in worse),
        tuple(name for name in worse if name not in reasons),
        tuple(name for name in reasons if name not in worse),
    )


def fails_only_here(there: Results, here: Results) -> list[str]:
    """The tests that pass on RabbitMQ and do not pass on the reference broker."""
    return [
        name
        for name, result in there.items()
        if result.outcome == PASSED and (name not in here or here[name].outcome != PASSED)
    ]


def known_differences(file: Path = KNOWN_DIFFERENCES) -> dict[str, dict[str, str]]:
    """Suite to node id to reason. Raises ``ValueError`` for an entry without a reason."""
    found: dict[str, dict[str, str]] = tomllib.loads(file.read_text())
    for suite, reasons in found.items():
        for name, reason in reasons.items():
            if not reason.strip():
                raise ValueError(f"{suite}: {name} has no reason")
    return found


def _passed(results: Results) -> int:
    return sum(result.outcome == PASSED for result in results.values())
