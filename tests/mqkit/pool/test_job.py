"""Messages without an outcome, in words."""

from __future__ import annotations

from mqkit.pool.job import unsettled


def test_a_message_that_was_sent_may_be_with_the_broker_and_another_is_not() -> None:
    assert unsettled(False, "in time") == "the message was never sent in time"
    assert unsettled(True, "in time") == "the message was sent, but not confirmed in time"
