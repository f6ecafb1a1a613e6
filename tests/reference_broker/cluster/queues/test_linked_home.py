"""linked_home: the calls of a home become commands, in order, and a lost home is told of."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.queues.answer_octets import (
    encode_delivery,
    encode_delivery_run,
    encode_number,
    encode_purged,
)
from reference_broker.cluster.queues.command_octets import Settle, read_grant, read_settle
from reference_broker.cluster.queues.kinds import AnswerKind, CommandKind
from reference_broker.cluster.queues.lane_input import LaneInput
from reference_broker.cluster.queues.lane_output import LaneOutput
from reference_broker.cluster.queues.linked_home import LinkedHome
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.remote.ports import Home, Purged, Settlement
from reference_broker.core.work.budget import UNLIMITED_UNITS, Budget
from reference_broker.core.work.portions import Portions
from reference_broker.errors import ChannelException
from reference_broker.testing.homes.noting_taker import NotingTaker, message, terms
from reference_broker.testing.link_pair import LinkPair


class _Linked:
    """A home, and the commands that come to it."""

    def __init__(self, units: int = UNLIMITED_UNITS) -> None:
        self.budget = Budget(units)
        self.work = Portions(self.budget)
        self.home = LinkedHome("b", self.work, self.budget)
        self.link()

    def link(self) -> None:
        self.pair = LinkPair().opened()
        link = self.pair.dialer.link
        self.outputs = [
            LaneOutput(link, lane, lambda _: None) for lane in (Lane.PUBLISH, Lane.DELIVER)
        ]
        self.input = LaneInput(link, Lane.DELIVER, self.home.take, self.work, self.budget)
        self.home.begin(link, *self.outputs)

    def lose(self) -> None:
        self.home.end()
        for output in self.outputs:
            output.close()

    def commands(self) -> list[tuple[int, bytes]]:
        """The commands of the turn that ends."""
        self.home.flush()
        for output in self.outputs:
            output.flush()
        self.pair.settle()
        received = self.pair.acceptor.received
        got, received[Lane.DELIVER] = received[Lane.DELIVER], []
        return got

    def answer(self, kind: AnswerKind, item: bytes) -> None:
        self.pair.acceptor.link.send(Lane.DELIVER, kind, (item,))
        self.pair.dialer.takes[Lane.DELIVER] = False
        self.pair.settle()
        while self.pair.dialer.held:
            _, held_kind, payload = self.pair.dialer.held.pop(0)
            self.input.receive(held_kind, payload)

    def turn(self) -> None:
        self.budget.refill()
        self.work.run()


def _settled(octets: bytes) -> list[Settle]:
    reader = OctetReader(memoryview(octets))
    found = []
    while not reader.is_at_end:
        found.append(read_settle(reader))
    return found


def test_it_is_a_home() -> None:
    home: Home = _Linked().home
    assert (home.node, home.is_up, home.has_room, home.era) == ("b", True, True, 0)


def test_settlements_that_follow_each_other_are_one() -> None:
    linked = _Linked()
    home = linked.home
    for queue_id, how, numbers in (
        (1, Settlement.ACK, [1]),
        (1, Settlement.ACK, [2, 3]),
        (1, Settlement.REJECT, [4]),
        (2, Settlement.REJECT, [5]),
    ):
        home.end_leases(queue_id, how, numbers)
    ((kind, octets),) = linked.commands()
    assert kind == CommandKind.SETTLE
    assert _settled(octets) == [
        Settle(1, Settlement.ACK, (1, 2, 3)),
        Settle(1, Settlement.REJECT, (4,)),
        Settle(2, Settlement.REJECT, (5,)),
    ]
    assert linked.commands() == []


def test_a_question_goes_behind_what_was_ended_before_and_ahead_of_what_is_after() -> None:
    linked = _Linked()
    home = linked.home
    home.end_leases(1, Settlement.ACK, [1])
    home.count(1, lambda answer: None)
    home.end_leases(1, Settlement.ACK, [2])
    kinds = [kind for kind, _ in linked.commands()]
    assert kinds == [CommandKind.SETTLE, CommandKind.COUNT, CommandKind.SETTLE]


def test_only_the_last_grant_of_a_turn_goes_and_none_of_a_consumer_that_leaves() -> None:
    linked = _Linked()
    home = linked.home
    stays, leaves = (home.attach(1, terms(), NotingTaker()) for _ in range(2))
    for messages in (1, 2, 3):
        home.grant(stays, messages, 100)
        home.grant(leaves, messages, 100)
    home.detach(leaves)
    commands = linked.commands()
    assert [kind for kind, _ in commands] == [
        CommandKind.ATTACH,
        CommandKind.DETACH,
        CommandKind.GRANT,
    ]
    reader = OctetReader(memoryview(commands[-1][1]))
    assert read_grant(reader) == (stays, 3, 100)
    assert reader.is_at_end


def test_after_its_end_an_attachment_is_told_and_asks_nothing() -> None:
    linked = _Linked()
    taker = NotingTaker()
    number = linked.home.attach(1, terms(), taker)
    linked.answer(AnswerKind.ATTACHED, encode_number(number))
    linked.answer(AnswerKind.GONE, encode_number(number))
    assert taker.told == ["attached", "gone"]
    linked.commands()
    linked.home.grant(number, 1, 1)
    linked.home.detach(number)
    assert linked.commands() == []
    linked.lose()
    assert taker.told == ["attached", "gone"]


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        (AnswerKind.ATTACHED, encode_number(7)),
        (AnswerKind.GONE, encode_number(7)),
        (AnswerKind.PURGED, encode_purged(7, Purged(1))),
        (AnswerKind.GOT_NOTHING, encode_number(7)),
        (30, b"x"),
        (AnswerKind.COUNTED, b"x"),
    ],
)
def test_an_answer_to_nothing_ends_the_link(kind: AnswerKind, item: bytes) -> None:
    linked = _Linked()
    linked.answer(kind, item)
    assert linked.pair.dialer.link.reason


def test_a_lost_home_tells_all_in_portions() -> None:
    linked = _Linked(units=100)
    home = linked.home
    takers = [NotingTaker() for _ in range(300)]
    told: list[object] = []
    for taker in takers:
        home.attach(1, terms(), taker)
        home.get(1, False, told.append)
    home.end_leases(1, Settlement.ACK, [1])
    linked.lose()
    assert not home.is_up
    assert home.era == 1
    assert 0 < sum(taker.told == ["gone"] for taker in takers) < 100
    linked.link()
    assert home.is_up
    late = NotingTaker()
    number = home.attach(1, terms(), late)
    turns = 0
    while linked.work:
        linked.turn()
        turns += 1
    assert turns > 15
    assert all(taker.told == ["gone"] for taker in takers)
    assert late.told == []
    assert len(told) == 300
    error = told[0]
    assert isinstance(error, ChannelException)
    assert error.reply_text == "NOT_FOUND - home node 'mqkit@b' of the queue went down"
    assert number == 301
    assert [kind for kind, _ in linked.commands()] == [CommandKind.ATTACH]


def test_what_is_ended_while_the_home_is_down_is_stale_and_never_goes() -> None:
    linked = _Linked()
    linked.lose()
    linked.home.end_leases(1, Settlement.ACK, [1])
    linked.home.grant(1, 1, 1)
    linked.home.detach(1)
    linked.link()
    assert linked.commands() == []
    linked.lose()
    linked.lose()
    assert linked.home.era == 2
    with pytest.raises(AssertionError, match="can't be reached"):
        linked.home.count(1, lambda answer: None)


def test_what_came_of_deliveries_and_questions_is_counted_over_all_links() -> None:
    linked = _Linked()
    taker = NotingTaker()
    number = linked.home.attach(7, terms(), taker)
    linked.home.count(7, lambda answer: None)
    linked.home.purge(7, lambda answer: None)
    linked.commands()
    linked.answer(AnswerKind.ATTACHED, encode_number(number))
    linked.answer(AnswerKind.DELIVERY, b"".join(encode_delivery(number, 1, False, message())))
    run = encode_delivery_run(number, 2, [message(), message()])
    linked.answer(AnswerKind.DELIVERY_RUN, b"".join(map(bytes, run)))
    assert len(taker.bodies) == linked.home.deliveries == 3
    linked.answer(AnswerKind.PURGED, encode_purged(2, Purged(1)))
    assert (linked.home.questions, linked.home.unanswered) == (2, 0)
    linked.lose()
    linked.turn()
    assert (linked.home.questions, linked.home.unanswered) == (2, 1)
    linked.link()
    assert linked.home.deliveries == 3
