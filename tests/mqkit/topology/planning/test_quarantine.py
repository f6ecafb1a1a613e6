"""The differences read out of a broker's refusal."""

from __future__ import annotations

import pytest

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.topology.planning.diff import Difference
from mqkit.topology.planning.quarantine import Quarantined, differences_in


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        (
            "PRECONDITION_FAILED - inequivalent arg 'x-max-length' for queue 'pq' in vhost '/':"
            " received the value '5' of type 'signedint' but current is none",
            Difference("x-max-length", "5", None),
        ),
        (
            "PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'it's' in vhost '/':"
            " received 'false' but current is 'true'",
            Difference("durable", "false", "true"),
        ),
        (
            "PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'x' in vhost '/':"
            " received 'topic' but current is 'direct'",
            Difference("type", "topic", "direct"),
        ),
        (
            "inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received none but current"
            " is the value '5' of type 'signedint'",
            Difference("x-message-ttl", None, "5"),
        ),
    ],
)
def test_the_difference_is_read_from_the_brokers_words(text: str, difference: Difference) -> None:
    assert differences_in(text) == (difference,)


def test_other_words_have_none() -> None:
    error = ChannelError(405, "RESOURCE_LOCKED - cannot obtain exclusive access", 50, 10)
    refused = Quarantined.of(Queue("q"), error)
    assert refused.differences == ()
    assert refused.to_dict()["reply_code"] == 405
