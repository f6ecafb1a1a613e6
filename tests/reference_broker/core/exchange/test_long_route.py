"""A route that is found in portions: what it has of a topology that changes meanwhile, and who
waits for it."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, content_frames, method_frame
from mqkit.wire.methods import (
    BasicAck,
    BasicPublish,
    ConfirmSelect,
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
    QueueDelete,
    QueueUnbind,
)
from reference_broker.core.exchange.long_route import (
    BINDINGS_PER_UNIT,
    PORTION_BINDINGS,
    ROUTE_LOOKS_MAX,
    LongRoute,
    Turns,
)
from reference_broker.errors import ChannelException, ReplyCode
from reference_broker.testing.lone_broker import FRAME_MAX, LoneBroker, LoneClient

QUEUES = 10
BINDINGS = ROUTE_LOOKS_MAX + 2 * PORTION_BINDINGS
UNITS = PORTION_BINDINGS // BINDINGS_PER_UNIT
"""A portion a turn."""


class Bound:
    """A fanout with so many bindings that its route is long: to ``q0``, ``q1``... in turn, and
    last to ``last``, once."""

    def __init__(self, **arguments: object) -> None:
        self.lone = LoneBroker()
        self.client = self.lone.client(channels=(1, 2))
        self.other = self.lone.client()
        names = [f"q{number}" for number in range(QUEUES)]
        self.client.send(
            1,
            ExchangeDeclare("all", "fanout"),
            *[QueueDeclare(name) for name in names],
            QueueDeclare("last", arguments=arguments),
            *[QueueBind(names[number % QUEUES], "all", f"{number}") for number in range(BINDINGS)],
            QueueBind("last", "all"),
            ConfirmSelect(),
        )
        self.client.received()
        self.set_units(UNITS)

    def set_units(self, units: int) -> None:
        self.lone.broker.budget.units = units
        self.lone.broker.budget.refill()

    def ready(self, name: str = "last") -> int:
        return self.lone.broker.vhosts["/"].queues[name].ready


@pytest.fixture
def bound() -> Bound:
    return Bound()


def published(
    channel: int = 1, body: bytes = b"m", message_id: str | None = None, **headers: Any
) -> bytes:
    properties = Properties(headers=headers or None, message_id=message_id)
    return content_frames(channel, BasicPublish("all", ""), properties, body, FRAME_MAX)


def acks(client: LoneClient) -> int:
    return sum(isinstance(method, BasicAck) for method in client.methods())


def test_it_takes_a_turn_for_each_portion_and_is_confirmed_at_the_end(bound: Bound) -> None:
    bound.client.feed(published())
    turns = bound.lone.complete()

    assert turns >= BINDINGS // PORTION_BINDINGS
    assert bound.lone.overdrawn <= UNITS
    assert [bound.ready(f"q{number}") for number in range(QUEUES)] == [1] * QUEUES
    assert bound.ready() == 1
    assert acks(bound.client) == 1


def test_once_found_it_is_remembered(bound: Bound) -> None:
    bound.client.send_bytes(published())
    bound.lone.broker.budget.refill()
    bound.client.feed(published())
    assert bound.ready() == 2


def test_what_changed_meanwhile_is_not_remembered(bound: Bound) -> None:
    bound.client.feed(published())
    bound.other.feed(method_frame(1, QueueDeclare("new")) + _bind("new"))
    bound.lone.complete()
    bound.client.send_bytes(published())
    assert (bound.ready("new"), bound.ready()) == (1, 2)


def test_a_binding_that_goes_meanwhile_is_not_on_it(bound: Bound) -> None:
    bound.client.feed(published())
    bound.other.feed(method_frame(1, QueueUnbind("last", "all")))
    bound.lone.complete()
    assert bound.ready() == 0
    assert bound.ready("q0") == 1
    assert acks(bound.client) == 1


def test_a_queue_of_the_same_name_that_is_declared_meanwhile_is_not_on_it(bound: Bound) -> None:
    bound.client.feed(published())
    again = method_frame(1, QueueDelete("last")) + method_frame(1, QueueDeclare("last"))
    bound.other.feed(again)
    bound.lone.complete()
    assert bound.ready() == 0
    assert bound.ready("q0") == 1


def test_a_message_with_more_keys_waits_for_its_own(bound: Bound) -> None:
    bound.client.send_bytes(published(CC=["a", "b"]))
    assert bound.ready() == 1
    assert bound.ready("q0") == 1
    assert acks(bound.client) == 1


def test_a_window_on_it_is_asked_for_each_message() -> None:
    bound = Bound(**{"x-message-id-window": 10})
    for number in (1, 1, 2):
        bound.client.send_bytes(published(message_id=f"{number}"))
    assert bound.ready("q0") == 3
    assert bound.ready() == 2


def test_a_channel_that_is_gone_meanwhile_leaves_the_turn_to_others(bound: Bound) -> None:
    bound.client.feed(published(1) + published(2))
    bound.other.feed(published(body=b"other"))
    bound.client.disconnect()
    bound.lone.complete()
    last = bound.lone.broker.vhosts["/"].queues["last"]
    assert b"other" in [content.body for content in last.contents.values()]


def test_two_channels_take_turns(bound: Bound) -> None:
    bound.client.feed(published(1) + published(2))
    bound.lone.complete()
    assert bound.ready() == 2


def test_the_turn_goes_to_who_has_waited_longest() -> None:
    turns = Turns()
    told: list[str] = []
    assert turns.take() is None
    for name in ("first", "second"):
        waits = turns.take()
        assert waits is not None
        waits.then(lambda name=name: told.append(name))  # type: ignore[misc]
    turns.give_back()
    assert told == ["first"]
    assert turns.take() is not None  # it is the first one's
    turns.give_back()
    assert told == ["first", "second"]


def test_an_error_is_told_to_who_asks_for_the_result() -> None:
    route = LongRoute(7)
    told: list[bool] = []
    route.until.then(lambda: told.append(True))
    route.end(ChannelException(ReplyCode.PRECONDITION_FAILED, "too dear"))
    assert told == [True]
    with pytest.raises(ChannelException, match="too dear"):
        route.result()


def test_an_error_of_ours_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        LongRoute(7).end(ZeroDivisionError())


def _bind(queue: str) -> bytes:
    return method_frame(1, QueueBind(queue, "all"))
