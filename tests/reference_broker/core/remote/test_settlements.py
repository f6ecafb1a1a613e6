"""Settlements that wait for the end of the input, and go in their order."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.message.content import Content
from reference_broker.core.remote.ports import Settlement
from reference_broker.core.remote.settlements import RemoteExits, Settlements
from reference_broker.testing.homes.scripted_home import ScriptedHome

ACK, REJECT = Settlement.ACK, Settlement.REJECT


class Begun:
    """Counts how often it was called."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@pytest.fixture
def begun() -> Begun:
    return Begun()


@pytest.fixture
def settlements(begun: Begun) -> Settlements:
    return Settlements(begun)


def sent(settlements: Settlements) -> list[tuple[object, ...]]:
    home = ScriptedHome()
    settlements.send(home, 7)
    return home.take_asked()


def test_they_go_in_their_order_and_those_of_a_kind_that_follow_each_other_together(
    settlements: Settlements,
) -> None:
    for how, number in ((ACK, 3), (ACK, 1), (REJECT, 2), (ACK, 5)):
        settlements.add(how, (number,))
    settlements.add(ACK, range(6, 8))
    assert sent(settlements) == [
        ("settle", 7, ACK, (3, 1)),
        ("settle", 7, REJECT, (2,)),
        ("settle", 7, ACK, (5, 6, 7)),
    ]


def test_somebody_is_told_of_the_first_one_only(settlements: Settlements, begun: Begun) -> None:
    settlements.add(ACK, (1,))
    settlements.add(REJECT, (2,))
    assert begun.times == 1
    assert len(sent(settlements)) == 2
    assert (sent(settlements), begun.times) == ([], 1)
    settlements.add(ACK, (3,))
    assert begun.times == 2


def test_what_is_added_later_changes_nothing_that_was_handed_over(settlements: Settlements) -> None:
    numbers = [1, 2]
    settlements.add(ACK, numbers)
    settlements.add(ACK, (3,))
    assert numbers == [1, 2]


def test_stale_ones_are_forgotten(settlements: Settlements, begun: Begun) -> None:
    settlements.add(ACK, (1,))
    settlements.forget()
    settlements.add(REJECT, (2,))
    assert sent(settlements) == [("settle", 7, REJECT, (2,))]
    assert begun.times == 2


def test_what_leaves_a_queue_elsewhere_is_acked_by_its_lease(settlements: Settlements) -> None:
    exits = RemoteExits(settlements)
    message = Content(b"\0\1q", encode_header(1, Properties()), b"x")
    exits.end(QueueIndex(), 4, message)
    assert exits.end_run(QueueIndex(), 5, [message] * 3) == 3
    assert not exits.move(8, message, (), message)
    assert sent(settlements) == [("settle", 7, ACK, (4, 5, 6, 7))]
