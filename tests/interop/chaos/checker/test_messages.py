"""Each law of messages catches what breaks it, and counts out what the run did itself."""

from __future__ import annotations

from typing import Any

import pytest

from interop.chaos.checker import messages
from interop.chaos.checker.sample import GoodRun, a
from interop.chaos.checker.verdict import Verdict
from interop.chaos.layout import WORK, lot_of, tiers_of

QUEUE = WORK[0]


@pytest.fixture
def good() -> GoodRun:
    return GoodRun()


def said(verdict: Verdict) -> list[str]:
    return [offence.text for offence in verdict.offences]


def test_a_good_run_offends_none_of_them(good: GoodRun) -> None:
    history = good.history
    for law in (messages.was_at_the_broker, messages.is_kept, messages.ends_in_time):
        verdict = law(history)
        assert said(verdict) == []
        assert verdict.judged > 1000


# -- confirmed, so at the broker -----------------------------------------------------------


def test_a_confirm_that_the_broker_never_sent(good: GoodRun) -> None:
    good.message("p1-x", 5.0, wire="")
    assert said(messages.was_at_the_broker(good.history)) == [
        "p1-x is Confirmed, and no ack of it was on the wire"
    ]


def test_a_confirm_before_the_broker_sent_it(good: GoodRun) -> None:
    good.message("p1-x", 5.0, takes_s=0.005)
    assert len(said(messages.was_at_the_broker(good.history))) == 1


def test_a_confirm_of_a_message_that_was_returned(good: GoodRun) -> None:
    good.message("p1-x", 5.0, wire="returned")
    assert len(said(messages.was_at_the_broker(good.history))) == 1


def test_a_confirm_where_the_ack_was_of_its_retry(good: GoodRun) -> None:
    good.message("p1-x", 5.0, key=tiers_of(QUEUE)[0])
    assert len(said(messages.was_at_the_broker(good.history))) == 1


def test_an_outcome_that_names_another_message(good: GoodRun) -> None:
    good.message("p1-x", 5.0, named="p1-y")
    assert said(messages.was_at_the_broker(good.history)) == ["the outcome of p1-x names p1-y"]


# -- rejected, so refused --------------------------------------------------------------------


@pytest.mark.parametrize(("reason", "wire"), [("UNROUTABLE", "returned"), ("NACKED", "nacked")])
def test_what_the_broker_refused_may_be_rejected(good: GoodRun, reason: str, wire: str) -> None:
    good.message("p1-x", 5.0, wire=wire, was="Rejected", reason=reason, handled=False)
    verdict = messages.was_refused(good.history)
    assert (verdict.judged, said(verdict)) == (1, [])


@pytest.mark.parametrize(
    ("reason", "wire"),
    [("UNROUTABLE", "acked"), ("UNROUTABLE", "nacked"), ("NACKED", "returned"), ("NACKED", "")],
)
def test_a_rejection_that_the_broker_never_said(good: GoodRun, reason: str, wire: str) -> None:
    good.message("p1-x", 5.0, wire=wire, was="Rejected", reason=reason, handled=False)
    assert len(said(messages.was_refused(good.history))) == 1


@pytest.mark.parametrize(
    ("reason", "scope", "code", "t", "offences"),
    [
        ("NO_EXCHANGE", "channel", 404, 5.01, 0),
        ("NO_EXCHANGE", "channel", 406, 5.01, 1),
        ("NO_EXCHANGE", "channel", 404, 4.99, 0),
        ("NO_EXCHANGE", "channel", 404, 4.9, 1),
        ("NO_EXCHANGE", "channel", 404, 5.03, 1),
        ("REFUSED", "channel", 403, 5.01, 0),
        ("REFUSED", "connection", 320, 5.01, 1),
    ],
)
def test_a_rejection_by_a_close(
    good: GoodRun, reason: str, scope: str, code: int, t: float, offences: int
) -> None:
    good.message("p1-x", 5.0, wire="", was="Rejected", reason=reason, handled=False)
    good.run.append(a(t, "closed", scope=scope, code=code, text="no"))
    assert len(said(messages.was_refused(good.history))) == offences


# -- confirmed, so kept ----------------------------------------------------------------------


def test_a_confirmed_message_that_is_nowhere(good: GoodRun) -> None:
    good.message("p1-x", 5.0, handled=False)
    assert said(messages.is_kept(good.history)) == ["p1-x for work.0 is Confirmed, and nowhere"]


def test_a_confirmed_message_that_failed_and_is_nowhere(good: GoodRun) -> None:
    good.message("p1-x", 5.0, how="raised ValueError")
    assert len(said(messages.is_kept(good.history))) == 1


@pytest.mark.parametrize("queue", [QUEUE, *tiers_of(QUEUE), lot_of(QUEUE)])
def test_a_message_that_is_in_a_queue_is_kept(good: GoodRun, queue: str) -> None:
    good.message("p1-x", 5.0, handled=False)
    good.remains.append(a(50.0, "found", id="p1-x", queue=queue))
    assert said(messages.is_kept(good.history)) == []


def deleted(good: GoodRun, queue: str, t: float) -> None:
    good.run.append(a(t, "deletion", queue=queue, owner=QUEUE, began=t - 0.01))


def test_what_was_in_a_queue_when_it_was_deleted_is_counted_out(good: GoodRun) -> None:
    good.message("p1-x", 5.0, handled=False)
    deleted(good, QUEUE, 5.5)
    verdict = messages.is_kept(good.history)
    assert said(verdict) == []
    assert verdict.counted_out == {"in a queue when that was deleted": 1}


@pytest.mark.parametrize(
    ("queue", "role"), [(tiers_of(QUEUE)[0], "a retry tier"), (lot_of(QUEUE), "a parking lot")]
)
def test_what_had_failed_when_a_tier_or_lot_was_deleted_is_counted_out(
    good: GoodRun, queue: str, role: str
) -> None:
    good.message("p1-x", 5.0, how="raised ValueError")
    deleted(good, queue, 5.5)
    assert messages.is_kept(good.history).counted_out == {f"in {role} when that was deleted": 1}


@pytest.mark.parametrize(
    ("how", "queue", "t"),
    [
        ({"handled": False}, QUEUE, 4.9),  # deleted before it was published
        ({"handled": False, "queue": WORK[1]}, QUEUE, 5.5),  # another queue
        ({"handled": False}, tiers_of(QUEUE)[0], 5.5),  # it had not failed
        ({"how": "raised ValueError"}, lot_of(QUEUE), 5.02),  # not failed yet
    ],
)
def test_a_deletion_that_explains_nothing(
    good: GoodRun, how: dict[str, Any], queue: str, t: float
) -> None:
    good.message("p1-x", 5.0, **how)
    deleted(good, queue, t)
    assert len(said(messages.is_kept(good.history))) == 1


def test_a_deletion_does_not_explain_what_was_seen_long_after_it(good: GoodRun) -> None:
    good.message("p1-x", 5.0, how="raised ValueError")
    good.app.append(a(30.0, "begin", id="p1-x", queue=QUEUE, attempt=1))
    deleted(good, QUEUE, 5.5)
    assert len(said(messages.is_kept(good.history))) == 1


# -- an outcome in time ----------------------------------------------------------------------


def test_a_publish_that_ends_after_its_deadline(good: GoodRun) -> None:
    good.message("p1-x", 5.0, takes_s=1.2)
    assert said(messages.ends_in_time(good.history)) == [
        "the publish of p1-x ended 0.200 s after its deadline"
    ]


def test_a_publish_that_is_late_with_the_whole_process(good: GoodRun) -> None:
    good.message("p1-x", 5.0, takes_s=1.2)
    good.app.append(a(5.5, "starved", since=5.3, own_cpu_s=0.0))
    verdict = messages.ends_in_time(good.history)
    assert said(verdict) == []
    assert verdict.counted_out.total() == 1


def test_a_publish_that_never_ends(good: GoodRun) -> None:
    good.app.append(a(5.0, "publish", id="p1-x", publisher=1, queue=QUEUE, deadline_s=1.0))
    assert said(messages.ends_in_time(good.history)) == ["the publish of p1-x has not ended"]


def test_a_publish_that_raises(good: GoodRun) -> None:
    good.app.append(a(5.0, "publish", id="p1-x", publisher=1, queue=QUEUE, deadline_s=1.0))
    good.app.append(a(5.1, "raised", id="p1-x", error="KeyError('lane')"))
    assert said(messages.ends_in_time(good.history)) == [
        "the publish of p1-x raised KeyError('lane')"
    ]


def test_an_unknown_that_says_nothing(good: GoodRun) -> None:
    good.message("p1-x", 5.0, was="Unknown", detail="")
    good.message("p1-y", 5.0, was="Unknown", detail="was sent, but not confirmed")
    assert said(messages.ends_in_time(good.history)) == ["p1-x is Unknown, and nothing says why"]
