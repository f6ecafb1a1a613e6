"""A choice of a lot's messages, and a sample of them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mqkit.errors import ConfigurationError
from mqkit.lots import choice as module
from mqkit.lots.choice import SAMPLE_MAX, Choice, Reservoir
from mqkit.lots.where import parse
from mqkit.message import Delivery, Properties
from mqkit.retry.headers import ATTEMPT, PARKED_AT, PARKED_REASON
from mqkit.retry.parked import Selection
from mqkit.wire import SizedInt, Typed

NOW = datetime(2026, 11, 24, tzinfo=UTC)
HOUR_MS = 3_600_000


def delivery(body: bytes = b"{}", **headers: Any) -> Delivery:
    properties = Properties(message_id="m", headers=headers)
    return Delivery("", "q.parked", body, properties, 1, redelivered=False)


def parked(ago_ms: int, **headers: Any) -> Delivery:
    at = (NOW - timedelta(milliseconds=ago_ms)).isoformat()
    return delivery(b'{"total": 5}', **{PARKED_AT: at, PARKED_REASON: "no VAT", **headers})


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(), True),
        (Choice(Selection(reason="vat")), True),
        (Choice(Selection(reason="other")), False),
        (Choice(Selection(frozenset({"n"}))), False),
        (Choice(older_than_ms=HOUR_MS - 1), True),
        (Choice(older_than_ms=HOUR_MS), False),
        (Choice(younger_than_ms=HOUR_MS + 1), True),
        (Choice(younger_than_ms=HOUR_MS), False),
        (Choice(attempts_min=3), True),
        (Choice(attempts_min=4), False),
        (Choice(headers={"tenant": "7", "octets": "b'x'"}), True),
        (Choice(headers={"tenant": "7", "gone": "None"}), False),
        (Choice(where=parse("body.total == 5 and age >= 1h")), True),
        (Choice(where=parse("body.total > 5")), False),
        (Choice(Selection(reason="VAT"), {"tenant": "8"}), False),
    ],
)
def test_all_that_is_set_must_hold(choice: Choice, expected: bool) -> None:
    seen = parked(HOUR_MS, **{ATTEMPT: 3}, tenant=SizedInt("l", 7), octets=Typed("x", b"x"))
    assert choice.matches(seen, "q.parked", NOW) is expected
    assert choice.at("q.parked", NOW)(seen) is expected


def test_what_has_no_age_is_neither_old_nor_young() -> None:
    for choice in (Choice(older_than_ms=0), Choice(younger_than_ms=10**15)):
        assert not choice.matches(delivery(), "q.parked", NOW)


@pytest.mark.parametrize(
    "counts", [{"limit": 0}, {"limit": -1}, {"sample": 0}, {"sample": SAMPLE_MAX + 1}]
)
def test_a_count_that_makes_no_sense(counts: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=r"at least 1|1 to 1000"):
        Choice(**counts)  # type: ignore[arg-type]


def sampled(size: int, seed: int, of: int) -> list[bytes]:
    reservoir = Reservoir(size, seed)
    assert not any(reservoir.offer(delivery(b"%d" % number)) for number in range(of))
    return [each.body for each in reservoir.kept]


def test_a_sample_is_in_order_and_the_same_for_the_same_seed() -> None:
    found = sampled(10, seed=1, of=500)
    assert len(found) == 10
    assert found == sorted(found, key=int) == sampled(10, seed=1, of=500)
    assert found != sampled(10, seed=2, of=500)
    assert sampled(10, seed=1, of=4) == [b"0", b"1", b"2", b"3"]


def test_each_has_the_same_chance() -> None:
    counts = Counter(body for seed in range(2_000) for body in sampled(5, seed, of=20))
    assert set(counts) == {b"%d" % number for number in range(20)}
    # 500 expected of each; 5 standard deviations of a binomial are 97.
    assert all(400 < count < 600 for count in counts.values()), counts


def test_a_sample_fits_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_OCTETS_MAX", 10)
    reservoir = Reservoir(2, 1)
    for _ in range(50):  # what is replaced counts no more
        reservoir.offer(delivery(b"x" * 5))
    large = Reservoir(2, 1)
    large.offer(delivery(b"x" * 5))
    with pytest.raises(ConfigurationError, match="take a smaller one"):
        large.offer(delivery(b"x" * 6))
