"""mqkit.sync.around: one middleware around what publishes."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason
from mqkit.sync import PublishNext
from mqkit.sync.around import surrounding

MESSAGE = Message("", "k", b"")


def confirmed(message: Message) -> Outcome:
    return Confirmed(message.routing_key)


def test_it_may_change_the_message_and_answer_for_itself() -> None:
    def elsewhere(message: Message, publish: PublishNext) -> Outcome:
        return publish(Message("", message.routing_key + "2", b""))

    def never(message: Message, publish: PublishNext) -> Outcome:
        return Rejected(RejectReason.REFUSED)

    assert surrounding(confirmed, elsewhere)(MESSAGE) == Confirmed("k2")
    assert surrounding(confirmed, never)(MESSAGE) == Rejected(RejectReason.REFUSED)


def test_who_gives_back_no_outcome_is_named() -> None:
    def forgetful(message: Message, publish: PublishNext) -> Outcome:
        publish(message)
        return None  # type: ignore[return-value]

    with pytest.raises(ConfigurationError, match="forgetful returned None and not an outcome"):
        surrounding(confirmed, forgetful)(MESSAGE)
