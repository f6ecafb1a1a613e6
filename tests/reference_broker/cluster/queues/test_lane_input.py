"""lane_input: what comes is taken in order and in portions, and its credit given back after it."""

from __future__ import annotations

import itertools

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.queues.lane_input import LaneInput, work_number
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions
from reference_broker.core.work.task import Steps
from reference_broker.core.work.until import Until
from reference_broker.errors import LinkError
from reference_broker.testing.link_pair import LinkPair


class _Receiver:
    """An input whose items are an octet each, which costs a unit: ``w`` waits for ``event``, and
    ``!`` can't be read."""

    def __init__(self, units: int = 1_000) -> None:
        self.pair = LinkPair().opened()
        self.link = self.pair.acceptor.link
        self.budget = Budget(units)
        self.work = Portions(self.budget)
        self.event = Until()
        self.taken = ""
        self.input = LaneInput(self.link, Lane.DELIVER, self._take, self.work, self.budget)
        self.pair.acceptor.takes[Lane.DELIVER] = False

    def _take(self, kind: int, reader: OctetReader) -> Steps | None:
        item = reader.take(1).decode()
        self.budget.left -= 1
        if item == "!":
            raise LinkError("unreadable")
        if item == "w":
            return self._wait()
        self.taken += item
        return None

    def _wait(self) -> Steps:
        yield self.event
        self.taken += "w"

    def send(self, *messages: bytes) -> None:
        for each in messages:
            self.pair.dialer.link.send(Lane.DELIVER, 1, (each,))
        self.pair.settle()
        held, self.pair.acceptor.held = self.pair.acceptor.held, []
        for _, kind, payload in held:
            self.input.receive(kind, payload)

    @property
    def held(self) -> int:
        """Octets whose credit was not given back."""
        return self.link.held_bytes

    def turn(self) -> None:
        self.budget.refill()
        self.work.run()


def test_items_are_taken_at_once_and_their_credit_given_back() -> None:
    receiver = _Receiver()
    receiver.send(b"ab", b"c")
    assert receiver.taken == "abc"
    assert receiver.held == 0
    assert not receiver.work


def test_more_than_the_turn_has_time_for_goes_on_in_later_ones() -> None:
    receiver = _Receiver(units=10)
    receiver.send(b"a" * 25, b"b" * 5)
    lengths = [len(receiver.taken)]
    assert receiver.held > 0
    while receiver.work:
        receiver.turn()
        lengths.append(len(receiver.taken))
    assert receiver.taken == "a" * 25 + "b" * 5
    assert max(b - a for a, b in itertools.pairwise(lengths)) <= 11
    assert receiver.held == 0


def test_what_waits_holds_up_what_is_behind_it_with_its_credit() -> None:
    receiver = _Receiver()
    receiver.send(b"awb", b"c")
    assert receiver.taken == "a"
    held = receiver.held
    receiver.send(b"d")
    assert receiver.held > held > 0
    receiver.event.happened()
    receiver.turn()
    assert receiver.taken == "awbcd"
    assert receiver.held == 0


def test_what_can_not_be_read_ends_the_link() -> None:
    receiver = _Receiver()
    receiver.send(b"a!b", b"c")
    assert receiver.taken == "a"
    assert receiver.link.reason == "unreadable"
    empty = _Receiver()
    empty.send(b"")
    assert "nothing in it" in empty.link.reason


def test_nothing_is_taken_after_the_end_but_what_is_under_way() -> None:
    receiver = _Receiver()
    receiver.send(b"wb", b"c")
    receiver.input.close()
    receiver.event.happened()
    receiver.turn()
    assert receiver.taken == "w"


def test_the_number_of_a_peer_is_no_connection() -> None:
    assert work_number(_Receiver().link) == -1
