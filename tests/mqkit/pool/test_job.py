"""Outcomes of messages that no channel has answered for."""

from __future__ import annotations

from mqkit.message import Message, Properties
from mqkit.outcome import Rejected, RejectReason, Unknown
from mqkit.pool.job import blocked, too_large, unsettled

MESSAGE = Message("x", "k", b"", Properties(message_id="m"))


def test_a_message_that_was_sent_may_be_with_the_broker_and_another_is_not() -> None:
    never = "the message was never sent in time"
    assert unsettled(MESSAGE, False, "in time") == Unknown(never, "m", sent=False)
    sent = "the message was sent, but not confirmed in time"
    assert unsettled(MESSAGE, True, "in time") == Unknown(sent, "m", sent=True)


def test_a_message_that_did_not_wait_for_the_broker_has_its_reason() -> None:
    assert blocked(MESSAGE, "low on disk") == Rejected(RejectReason.BLOCKED, "low on disk", "m")


def test_a_message_that_is_too_large_is_told_by_how_much() -> None:
    detail = "0 bytes; the limit is -1 (max_message_bytes)"
    assert too_large(MESSAGE, -1) == Rejected(RejectReason.TOO_LARGE, detail, "m")
