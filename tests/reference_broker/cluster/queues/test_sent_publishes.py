"""sent_publishes: publishes for another node are numbered over all links, and told of in order."""

from __future__ import annotations

import itertools

import pytest

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.queues.lane_output import LaneOutput
from reference_broker.cluster.queues.publish_octets import UNANSWERED_MAX
from reference_broker.cluster.queues.sent_publishes import UNTOLD_MAX, SentPublishes
from reference_broker.core.work.budget import UNLIMITED_UNITS, Budget
from reference_broker.core.work.portions import Portions
from reference_broker.errors import LinkError
from reference_broker.testing.homes.noting_taker import message
from reference_broker.testing.link_pair import LinkPair


class _Publisher:
    """Publishes, and the links that they go over."""

    def __init__(self, units: int = UNLIMITED_UNITS, *, linked: bool = True) -> None:
        self.budget = Budget(units)
        self.work = Portions(self.budget)
        self.sent = SentPublishes(self.work, self.budget)
        self.refused: list[int] = []
        if linked:
            self.link()

    def link(self) -> None:
        self.pair = LinkPair().opened()
        self.pair.acceptor.takes[Lane.PUBLISH] = False
        self.output = LaneOutput(self.pair.dialer.link, Lane.PUBLISH, lambda link: None)
        self.sent.begin(self.output, -2)

    def lose(self) -> None:
        self.sent.end()
        self.output.close()

    def publish(self, count: int = 1, size: int = 4) -> int:
        number = 0
        for _ in range(count):
            following = self.sent.last + 1
            number = self.sent.publish([7], message(b"x" * size), lambda n=following: self._note(n))  # type: ignore[misc]
            assert number == following
        return number

    def _note(self, number: int) -> None:
        assert self.sent.confirmed.value < number
        self.refused.append(number)

    def turn(self) -> None:
        self.budget.refill()
        self.work.run()


def test_numbers_rise_over_all_links() -> None:
    publisher = _Publisher()
    assert publisher.publish(2) == 2
    publisher.lose()
    assert publisher.publish() == 3
    publisher.link()
    assert publisher.publish() == 4


def test_what_is_confirmed_is_not_refused_and_what_is_refused_is_told_before() -> None:
    publisher = _Publisher()
    publisher.publish(5)
    publisher.sent.refuse([2])
    assert (publisher.refused, publisher.sent.confirmed.value) == ([], 0)
    publisher.sent.confirm(3)
    assert (publisher.refused, publisher.sent.confirmed.value) == ([2], 3)
    publisher.sent.refuse([4, 5])
    publisher.sent.confirm(5)
    assert (publisher.refused, publisher.sent.confirmed.value) == ([2, 4, 5], 5)


def test_who_wants_to_know_nothing_is_told_nothing() -> None:
    publisher = _Publisher()
    publisher.sent.publish([7], message(), None)
    publisher.publish()
    publisher.sent.refuse([1])
    publisher.sent.confirm(2)
    assert publisher.refused == []


def test_a_lost_link_refuses_the_rest_in_portions_and_then_the_next_link_counts() -> None:
    publisher = _Publisher(units=100)
    publisher.publish(1_000)
    publisher.sent.confirm(500)
    for _ in range(20):
        publisher.turn()
    publisher.lose()
    assert publisher.refused == []
    publisher.link()
    last = publisher.publish()
    publisher.sent.confirm(last)
    seen = []
    while publisher.work:
        publisher.turn()
        told = publisher.refused[-1]
        seen.append(len(publisher.refused))
        assert publisher.sent.confirmed.value in (told, last)
        assert publisher.sent.confirmed.value < last or told == 1_000
    assert publisher.refused == list(range(501, 1_001))
    assert publisher.sent.confirmed.value == last
    steps = [b - a for a, b in itertools.pairwise(seen)]
    assert len(seen) >= 5
    assert max(steps) <= 100


def test_while_the_home_is_down_a_publish_is_refused_and_not_within_the_call() -> None:
    publisher = _Publisher(linked=False)
    publisher.publish(3)
    assert (publisher.refused, publisher.sent.confirmed.value) == ([], 0)
    publisher.turn()
    assert (publisher.refused, publisher.sent.confirmed.value) == ([1, 2, 3], 3)
    assert not publisher.work
    number = publisher.publish()
    publisher.link()
    publisher.publish()
    publisher.turn()
    assert (publisher.refused[-1], publisher.sent.confirmed.value) == (number, number)


def test_one_who_publishes_as_he_is_told_is_told_later() -> None:
    publisher = _Publisher(linked=False)
    again: list[int] = []
    publisher.sent.publish([7], message(), lambda: again.append(publisher.publish()))
    publisher.turn()
    assert (again, publisher.refused, publisher.sent.confirmed.value) == ([2], [2], 2)


@pytest.mark.parametrize("through", [0, 4])
def test_only_what_was_sent_can_be_confirmed(through: int) -> None:
    publisher = _Publisher()
    publisher.publish(3)
    publisher.sent.confirm(1)
    with pytest.raises(LinkError, match="are confirmed"):
        publisher.sent.confirm(through)


@pytest.mark.parametrize("numbers", [[1], [4], [3, 3], [3, 2]])
def test_only_what_was_sent_can_be_refused_and_in_order(numbers: list[int]) -> None:
    publisher = _Publisher()
    publisher.publish(3)
    publisher.sent.confirm(1)
    with pytest.raises(LinkError, match="is refused after"):
        publisher.sent.refuse(numbers)


def test_what_waits_in_front_of_the_lane_is_bounded() -> None:
    publisher = _Publisher()
    told: list[bool] = []
    count = 0
    while publisher.sent.has_room:
        publisher.publish(size=100_000)
        count += 1
    assert 120 <= count <= 135  # the 4 MiB that wait in the lane, and the 8 in front of it
    publisher.sent.room_comes.then(lambda: told.append(publisher.sent.has_room))
    publisher.pair.settle()
    publisher.turn()
    assert told == [True]


def test_who_waits_for_room_is_told_when_the_home_is_down() -> None:
    publisher = _Publisher()
    told: list[bool] = []
    while publisher.sent.has_room:
        publisher.publish(size=100_000)
    publisher.sent.room_comes.then(lambda: told.append(publisher.sent.has_room))
    publisher.lose()
    publisher.turn()
    assert told == [True]


def test_so_many_go_unanswered_and_no_more_until_some_are_answered() -> None:
    publisher = _Publisher()
    publisher.publish(UNANSWERED_MAX + 5)
    publisher.output.flush()
    publisher.pair.settle()
    octets = b"".join(each for _, each in publisher.pair.acceptor.received[Lane.PUBLISH])
    one = len(octets) // UNANSWERED_MAX
    assert len(octets) == one * UNANSWERED_MAX
    publisher.sent.confirm(10)
    publisher.output.flush()
    publisher.pair.settle()
    octets = b"".join(each for _, each in publisher.pair.acceptor.received[Lane.PUBLISH])
    assert len(octets) == one * (UNANSWERED_MAX + 5)


def test_who_goes_on_publishing_while_the_home_is_down_has_to_wait_for_his_answers() -> None:
    publisher = _Publisher(units=1_000, linked=False)
    publisher.publish(UNTOLD_MAX)
    assert not publisher.sent.has_room
    told: list[int] = []
    publisher.sent.room_comes.then(lambda: told.append(len(publisher.refused)))
    while publisher.work:
        publisher.turn()
    assert told
    assert publisher.sent.has_room


def _outcomes(publisher: _Publisher) -> tuple[int, int, int, int]:
    found = publisher.sent.outcomes
    return found.confirmed, found.nacked, found.in_doubt, found.unreachable


def test_every_publish_has_one_outcome() -> None:
    publisher = _Publisher()
    publisher.publish(5)
    publisher.sent.publish([7], message(), None)
    assert _outcomes(publisher) == (0, 0, 0, 0)
    publisher.sent.refuse([2, 4])
    publisher.sent.confirm(3)
    assert _outcomes(publisher) == (2, 1, 0, 0)
    publisher.sent.refuse([6])
    publisher.sent.confirm(6)
    assert _outcomes(publisher) == (3, 3, 0, 0)
    publisher.publish(10)
    publisher.sent.refuse([8])
    publisher.lose()
    publisher.publish(3)
    publisher.turn()
    assert _outcomes(publisher) == (3, 3, 10, 3)
    publisher.link()
    publisher.publish()
    publisher.sent.confirm(20)
    assert _outcomes(publisher) == (4, 3, 10, 3)


def test_outcomes_never_fall_while_they_are_told_in_portions() -> None:
    publisher = _Publisher(units=100)
    publisher.publish(1_000)
    publisher.sent.refuse(range(1, 1_001))
    publisher.sent.confirm(1_000)
    before = _outcomes(publisher)
    while publisher.sent.confirmed.value < 1_000:
        publisher.turn()
        found = _outcomes(publisher)
        assert all(now >= then for now, then in zip(found, before, strict=True))
        before = found
    assert before == (0, 1_000, 0, 0)
