"""mqkit.sync.call: who goes again, who is refused, and who has an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.terms import Terms
from mqkit.sync.call import Call

LOST = Unknown("lost")
UNSENT = Unknown("not sent", sent=False)


def call_of(count: int, terms: Terms | None = None) -> Call:
    messages = [Message("", "q", b"x", Properties(message_id=str(n))) for n in range(count)]
    return Call(messages, terms or Terms(), 0.0, 100)


def over(outcomes: Sequence[Outcome | None], handed: int) -> Any:
    """An attempt that is over."""
    sent = [at for at, outcome in enumerate(outcomes[:handed]) if outcome is not UNSENT]
    return SimpleNamespace(outcomes=outcomes, sent=sent)


def test_a_message_without_an_id_gets_one_and_one_too_large_its_outcome() -> None:
    call = Call([Message("", "q", b"x"), Message("", "q", b"x" * 101)], Terms(), 0.0, 100)
    assert all(message.properties.message_id for message in call.messages)
    assert call.pending == [0]
    missing, large = call.outcomes("in time")
    assert isinstance(missing, Unknown)
    assert not missing.sent
    assert isinstance(large, Rejected)
    assert large.reason is RejectReason.TOO_LARGE


def test_what_is_in_doubt_or_was_not_sent_goes_again_in_its_order() -> None:
    call = call_of(5)
    attempt = over([Confirmed("0"), LOST, Confirmed("2"), UNSENT, None], 4)
    assert call.take(call.pending, attempt) == [1]
    assert call.pending == [1, 3, 4]
    assert call.take([1], over([Confirmed("1")], 1)) == []
    assert call.pending == [3, 4]
    assert [str(outcome.message_id) for outcome in call.outcomes("in time")] == list("01234")


def test_who_does_not_resend_has_unknown_for_what_was_sent() -> None:
    call = call_of(2, Terms(resend=False))
    assert call.take(call.pending, over([LOST, UNSENT], 2)) == []
    assert call.pending == [1]
    assert call.outcomes("in time")[0] is LOST


def test_a_block_refuses_what_was_never_sent_and_what_is_in_doubt_waits() -> None:
    call = call_of(2, Terms(fails_when_blocked=True))
    assert not call.waits_when_blocked
    call.take(call.pending, over([LOST, UNSENT], 2))
    assert not call.waits_when_blocked
    call.refuse("low on memory")
    assert call.pending == [0]
    assert call.waits_when_blocked
    doubtful, refused = call.outcomes("in time")
    assert isinstance(doubtful, Unknown)
    assert refused == Rejected(RejectReason.BLOCKED, "low on memory", "1")
