"""Messages sent to one queue as they are, against both brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqkit.lots.archive.record import Record
from mqkit.lots.sending import QueueSender, in_words, own
from mqkit.outcome import Confirmed
from mqkit.retry.headers import ORIGINAL_USER_ID
from mqkit.transport.native.exact import ExactProperties, from_octets, octets_of
from mqkit.wire import Properties as WireProperties

pytestmark = pytest.mark.anyio


def properties(**values: Any) -> ExactProperties:
    return from_octets(octets_of(WireProperties(**values)))


async def test_in_order_and_confirmed(yard: Any) -> None:
    records = [Record("e", "k", b"%d" % each, properties(priority=each)) for each in range(5)]
    channel = await yard.connection.channel(confirms=True)
    sender = QueueSender(yard.link, channel, yard.name)
    outcomes = await sender.send(records)
    assert [type(outcome) for outcome in outcomes] == [Confirmed] * 5
    await sender.end()
    found = await yard.drain(yard.name)
    assert [(each.body, each.properties.octets) for each in found] == [
        (each.body, each.properties.octets) for each in records
    ]


async def test_copies_are_not_sent_again(yard: Any, unique: Callable[[str], str]) -> None:
    other = unique("other")
    await yard.declare(other)
    copied = properties(headers={"CC": [other], "BCC": [other]})
    channel = await yard.connection.channel(confirms=True)
    sender = QueueSender(yard.link, channel, yard.name)
    assert all(
        isinstance(outcome, Confirmed)
        for outcome in await sender.send([Record("", "", b"x", copied)] * 2)
    )
    await sender.end()
    await sender.end()
    assert await yard.bodies(other) == []
    assert len(await yard.bodies(yard.name)) == 2


async def test_what_is_refused_is_said_in_words(yard: Any, unique: Callable[[str], str]) -> None:
    full = unique("full")
    await yard.declare(full, max_length=1, overflow="reject-publish")
    channel = await yard.connection.channel(confirms=True)
    sender = QueueSender(yard.link, channel, full)
    outcomes = await sender.send([Record("", "", b"x", properties())] * 3)
    assert [isinstance(outcome, Confirmed) for outcome in outcomes] == [True, False, False]
    assert in_words(outcomes[0]) == "confirmed"
    assert in_words(outcomes[1])


def test_only_ones_own_user_id_may_be_sent() -> None:
    for mine in (properties(), properties(user_id="me")):
        assert own(mine, "me") is mine
    theirs = own(properties(user_id="ann", headers={"a": 1}), "me")
    assert theirs.user_id is None
    assert theirs.headers == {"a": 1, ORIGINAL_USER_ID: "ann"}
