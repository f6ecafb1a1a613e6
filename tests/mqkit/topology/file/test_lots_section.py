"""The reader of lots: and alert:, and the rules of their meaning."""

from __future__ import annotations

import pytest

from mqkit.topology import check, loads
from mqkit.topology.lot_model import AlertModel, ArchiveModel, LotModel, ReplayModel

QUEUES = "queues:\n  q: {retry: {after: [1s]}}\n  plain: {}\n"


def faults(lots: str) -> list[str]:
    return [fault.message for fault in check(f"{QUEUES}lots:\n{lots}")[1]]


def test_a_whole_lot() -> None:
    topology = loads(
        f"{QUEUES}lots:\n  q.parked:\n    replay: {{every: 1h, at_most: 3}}\n"
        "    archive: {after: 24h, to: 'lots/{queue}/{date}.jsonl.gz'}\n"
        "    alert: {depth: 100, age: 1h}\n"
    )
    assert topology.lots == (
        LotModel(
            "q.parked",
            ReplayModel(3_600_000, 3),
            ArchiveModel(86_400_000, "lots/{queue}/{date}.jsonl.gz"),
            AlertModel(100, 3_600_000),
        ),
    )


def test_any_queue_may_have_an_alert() -> None:
    topology = loads("queues:\n  q: {alert: {depth: 10000}}\n")
    assert topology.queues[0].alert == AlertModel(depth=10_000)


@pytest.mark.parametrize(
    ("lots", "said"),
    [
        ("  q.parked: {}\n", "nothing is said about the lot"),
        ("  q.parked: {replay: {every: 1h}}\n", "'at_most' is missing"),
        ("  q.parked: {replay: {every: 1h, at_most: 11}}\n", "from 1 to 10"),
        ("  q.parked: {replay: {every: 10ms, at_most: 1}}\n", "expected"),
        ("  q.parked: {archive: {after: 1d}}\n", "'to' is missing"),
        ("  q.parked: {archive: {after: 1d, to: 'a/{lot}.jsonl.gz'}}\n", "unknown placeholder"),
        ("  q.parked: {archive: {after: 1d, to: a.txt}}\n", "does not end in .jsonl.gz"),
        ("  q.parked: {alert: {}}\n", "an alert without a limit"),
        (
            "  q.parked: {replay: {every: 2d, at_most: 1}, archive: {after: 1d, to: a.jsonl.gz}}\n",
            "",
        ),
        ("  nobody.parked: {alert: {depth: 1}}\n", ""),
    ],
)
def test_what_is_wrong_is_said(lots: str, said: str) -> None:
    found = faults(lots)
    assert len(found) == 1
    assert said in found[0]
