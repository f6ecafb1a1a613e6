"""Counting outcomes."""

from __future__ import annotations

from mqkit.outcome import Confirmed, Rejected, RejectReason, Unknown
from mqkit_cli.messages.tally import ADVICE, SHOWN_FAILURES, Tally


def test_counts_and_first_failures() -> None:
    tally = Tally()
    tally.add([Confirmed(), Rejected(RejectReason.NACKED), Unknown("lost")])
    tally.add([Rejected(RejectReason.TOO_LARGE, "17 bytes"), Confirmed()])
    assert str(tally) == "2 of 5 confirmed, 1 nacked, 1 too large, 1 unknown"
    assert tally.failed == 3
    assert tally.failures == [
        "message 2: rejected, nacked",
        "message 3: unknown: lost",
        "message 4: rejected, too large: 17 bytes",
    ]
    found = tally.to_dict()
    assert found["rejected"]["too_large"] == 1
    assert sum(found["rejected"].values()) + found["unknown"] + found["confirmed"] == 5


def test_failures_are_bounded() -> None:
    tally = Tally()
    tally.add([Unknown("lost")] * 1_000)
    assert len(tally.failures) == SHOWN_FAILURES
    assert tally.unknown == 1_000


def test_nothing() -> None:
    assert str(Tally()) == "0 of 0 confirmed"
    assert Tally().failed == 0
    assert Tally().advice is None


def test_advice_is_for_the_first_rejection_that_has_some() -> None:
    tally = Tally()
    tally.add([Unknown("lost"), Rejected(RejectReason.TOO_LARGE)])
    assert tally.advice is None
    tally.add([Rejected(RejectReason.UNROUTABLE), Rejected(RejectReason.NO_EXCHANGE)])
    assert tally.advice == ADVICE[RejectReason.UNROUTABLE]
