"""Runs all suites against both brokers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interop.brokers import Brokers
from interop.suites.catalog import SUITES, Suite
from interop.suites.session import run_suite
from interop.suites.verdict import (
    PASSED,
    Results,
    Verdict,
    fails_only_here,
    judge,
    known_differences,
)
from interop.suites.workshop import Workshop

RETRIES = 2
"""Some of these tests race with themselves; one that fails here is run alone, this often."""


def compare_suites(
    brokers: Brokers, folder: Path, suites: Iterable[Suite] = SUITES
) -> Iterator[Verdict]:
    """One verdict per suite. Raises what :mod:`workshop` and :mod:`session` raise."""
    workshop = Workshop(folder)
    reasons = known_differences()
    for suite in suites:
        sources, python = workshop.sources(suite), workshop.python(suite)
        with ThreadPoolExecutor(2) as both:
            there, first_run = both.map(
                lambda broker, suite=suite, sources=sources, python=python: run_suite(
                    suite, sources, python, broker
                ),
                (brokers.there, brokers.here),
            )
        here = _with_retries(suite, sources, python, brokers, there, first_run)
        yield judge(suite.name, there, here, reasons.get(suite.name, {}))


def _with_retries(
    suite: Suite, sources: Path, python: Path, brokers: Brokers, there: Results, here: Results
) -> Results:
    for _ in range(RETRIES):
        again = fails_only_here(there, here)
        if not again:
            break
        repeated = run_suite(suite, sources, python, brokers.here, again)
        here = {**here, **{name: r for name, r in repeated.items() if r.outcome == PASSED}}
    return here
