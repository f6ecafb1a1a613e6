"""Who is blamed when the broker closes a channel that has publishes in flight."""

from __future__ import annotations

import pytest

from mqkit.errors import ChannelError, ConnectionLost, ConnectionRefused, MqkitError
from mqkit.message import Message
from mqkit.outcome import Rejected, RejectReason, Unknown
from mqkit.pool.attribution import outcomes_at_close

TO_A = Message("a", "k", b"12345")
TO_B = Message("b", "k", b"1234567890")

NO_EXCHANGE_A = ChannelError(404, "NOT_FOUND - no exchange 'a' in vhost '/'", 60, 40)


def reasons(pending: list[Message], error: MqkitError | None) -> list[RejectReason | None]:
    outcomes = outcomes_at_close(pending, error)
    assert all(isinstance(outcome, (Rejected, Unknown)) for outcome in outcomes)
    return [outcome.reason if isinstance(outcome, Rejected) else None for outcome in outcomes]


def test_a_missing_exchange_rejects_what_was_sent_to_it() -> None:
    assert reasons([TO_B, TO_A, TO_B, TO_A], NO_EXCHANGE_A) == [
        None,
        RejectReason.NO_EXCHANGE,
        None,
        RejectReason.NO_EXCHANGE,
    ]


def test_a_refused_exchange_rejects_what_was_sent_to_it() -> None:
    text = "ACCESS_REFUSED - access to exchange 'b' in vhost '/' refused for user 'u'"
    error = ChannelError(403, text, 60, 40)
    assert reasons([TO_A, TO_B], error) == [None, RejectReason.REFUSED]


def test_a_size_rejects_what_has_it() -> None:
    text = "PRECONDITION_FAILED - message size 10 is larger than configured max size 9"
    assert reasons([TO_A, TO_B], ChannelError(406, text, 60, 40)) == [None, RejectReason.TOO_LARGE]


def test_a_reason_that_names_nobody_blames_only_one_that_was_alone() -> None:
    error = ChannelError(406, "PRECONDITION_FAILED - invalid expiration", 60, 40)
    assert reasons([TO_A, TO_B], error) == [None, None]
    assert reasons([TO_A], error) == [RejectReason.REFUSED]


@pytest.mark.parametrize(
    "error",
    [
        None,
        ConnectionLost("cut"),
        ConnectionRefused(320, "CONNECTION_FORCED", 0, 0),
        ChannelError(404, "NOT_FOUND - no exchange 'a' in vhost '/'", 40, 10),
    ],
    ids=["closed here", "lost", "connection closed", "another method's error"],
)
def test_otherwise_all_is_in_doubt_even_alone(error: MqkitError | None) -> None:
    assert reasons([TO_A], error) == [None]
    assert reasons([TO_A, TO_B], error) == [None, None]


def test_nothing_in_flight_is_nobodys_fault() -> None:
    assert outcomes_at_close([], NO_EXCHANGE_A) == []
