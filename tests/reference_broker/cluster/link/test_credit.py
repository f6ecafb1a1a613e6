"""Credit: what is spent and given back, and an end that doesn't keep to it."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.credit import (
    GIVE_BACK_PARTS,
    Credit,
    ReceivingCredit,
    SendingCredit,
    decode_credit,
)
from reference_broker.cluster.link.lane import WINDOWS, Lane
from reference_broker.errors import LinkError

WINDOW = WINDOWS[Lane.PUBLISH]


def test_a_credit_is_what_was_encoded() -> None:
    credit = Credit(Lane.DELIVER, 1 << 60)
    assert decode_credit(memoryview(credit.encode())) == credit


@pytest.mark.parametrize(
    ("octets", "fault"),
    [
        (b"", "can't be read"),
        (bytes(10), "can't be read"),
        (b"\x09" + bytes(8), "can't be read"),
        (bytes(9), "lane CONTROL, which needs none"),
    ],
    ids=["empty", "long", "no lane", "control"],
)
def test_a_credit_that_is_none(octets: bytes, fault: str) -> None:
    with pytest.raises(LinkError, match=fault):
        decode_credit(memoryview(octets))


def test_the_last_message_may_go_beyond_the_window() -> None:
    credit = SendingCredit(Lane.PUBLISH)
    assert credit.left == WINDOW
    credit.spend(WINDOW - 1)
    assert credit.left == 1
    credit.spend(128 * WINDOW)
    assert credit.left < 0
    credit.give(129 * WINDOW - 1)
    assert credit.left == WINDOW


def test_more_is_given_back_than_was_sent_or_less_than_before() -> None:
    credit = SendingCredit(Lane.PUBLISH)
    credit.spend(100)
    credit.give(60)
    for consumed in (101, 59):
        with pytest.raises(LinkError, match=f"for {consumed} octets, of 100 that were sent and 60"):
            credit.give(consumed)
    assert credit.left == WINDOW - 40


def test_credit_goes_back_by_quarters_of_the_window() -> None:
    credit = ReceivingCredit(Lane.PUBLISH)
    quarter = WINDOW // GIVE_BACK_PARTS
    credit.receive(WINDOW)
    assert credit.consume(quarter - 1) is None
    assert credit.consume(1) == Credit(Lane.PUBLISH, quarter)
    assert credit.consume(quarter - 1) is None
    assert credit.consume(quarter + 1) == Credit(Lane.PUBLISH, 3 * quarter)
    assert credit.held == WINDOW - 3 * quarter


def test_what_is_not_given_back_yet_never_stops_a_sender() -> None:
    """All but a quarter less one byte was given back: three quarters are left to send."""
    sending, receiving = SendingCredit(Lane.PUBLISH), ReceivingCredit(Lane.PUBLISH)
    for _ in range(1_000):
        sending.spend(WINDOW // 7)
        receiving.receive(WINDOW // 7)
        given = receiving.consume(WINDOW // 7)
        if given is not None:
            sending.give(given.consumed)
        assert sending.left > WINDOW // 2


def test_a_sender_without_credit_is_found_out() -> None:
    credit = ReceivingCredit(Lane.DELIVER)
    credit.receive(WINDOW - 1)
    credit.receive(128 * WINDOW)
    with pytest.raises(LinkError, match="a message of lane DELIVER came without credit"):
        credit.receive(1)


def test_an_owner_can_not_consume_what_it_was_not_handed() -> None:
    credit = ReceivingCredit(Lane.DELIVER)
    credit.receive(10)
    with pytest.raises(AssertionError, match="11 octets consumed, of 10"):
        credit.consume(11)
    assert credit.held == 10
