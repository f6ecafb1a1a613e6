"""lane_output: items of a kind go together, in order, and what has no room waits."""

from __future__ import annotations

from reference_broker.cluster.link.lane import WINDOWS, Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.link.sending_lane import WAITING_BYTES_MAX
from reference_broker.cluster.queues.lane_output import BATCH_BYTES, LaneOutput
from reference_broker.testing.link_pair import LinkPair

_BIG = b"x" * BATCH_BYTES


class _Sender:
    """An output, and what has come of it."""

    def __init__(self) -> None:
        self.pair = LinkPair().opened()
        self.looks: list[Link] = []
        self.output = LaneOutput(self.pair.dialer.link, Lane.DELIVER, self.looks.append)

    def received(self) -> list[tuple[int, bytes]]:
        self.pair.settle()
        got = self.pair.acceptor.received[Lane.DELIVER]
        self.pair.acceptor.received[Lane.DELIVER] = []
        return got


def test_items_of_a_kind_are_one_message_until_the_turn_ends() -> None:
    sender = _Sender()
    sender.output.add_small(1, b"a")
    assert sender.looks == [sender.pair.dialer.link]
    sender.output.add(1, (b"b", b"c"), 2)
    sender.output.add_small(2, b"d")
    sender.output.add_small(1, b"e")
    assert sender.received() == [(1, b"abc"), (2, b"d")]
    sender.output.flush()
    sender.output.flush()
    assert sender.received() == [(1, b"e")]


def test_a_large_batch_does_not_wait_for_the_end_of_the_turn() -> None:
    sender = _Sender()
    sender.output.add_small(1, b"a")
    sender.output.add_small(1, _BIG)
    assert sender.received() == [(1, b"a" + _BIG)]


def test_what_has_no_room_waits_in_order_and_whoever_waits_is_told() -> None:
    sender = _Sender()
    output = sender.output
    sender.pair.acceptor.takes[Lane.DELIVER] = False
    count = 0
    while output.has_room:
        output.add_small(1, _BIG)
        count += 1
    assert count * BATCH_BYTES >= WAITING_BYTES_MAX
    output.add_small(2, b"last")
    output.flush()
    assert output.waiting > 0
    told: list[bool] = []
    output.room_comes.then(lambda: told.append(output.has_room))
    received = sender.received()
    assert received[-1] == (2, b"last")
    assert len(received) == count + 1
    assert told == [True]
    assert (output.waiting, output.has_room) == (0, True)


def test_room_that_the_other_end_does_not_give_is_waited_for() -> None:
    sender = _Sender()
    output = sender.output
    sender.pair.acceptor.takes[Lane.DELIVER] = False
    sent = 0
    while sent < WINDOWS[Lane.DELIVER] + 2 * WAITING_BYTES_MAX:
        output.add_small(1, _BIG)
        sent += len(_BIG)
    sender.received()
    assert not output.has_room
    while sender.pair.acceptor.held:
        sender.pair.acceptor.take_held()
        sender.pair.settle()
    assert output.has_room


def test_what_is_held_waits_until_it_is_released() -> None:
    sender = _Sender()
    sender.output.is_held = True
    sender.output.add_small(1, _BIG)
    assert sender.received() == []
    assert not sender.output.has_room
    sender.output.release()
    assert sender.received() == [(1, _BIG)]
    assert sender.output.has_room


def test_the_end_of_the_link_drops_all_and_tells_who_waits() -> None:
    sender = _Sender()
    while sender.output.has_room:
        sender.output.add_small(1, _BIG)
    sender.output.add_small(1, _BIG)
    told: list[bool] = []
    sender.output.room_comes.then(lambda: told.append(True))
    sender.pair.dialer.link.lost("cut")
    assert told == []
    sender.output.close()
    assert told == [True]
    assert (sender.output.waiting, sender.output.has_room) == (0, False)
    sender.output.close()


def test_whoever_waits_is_told_also_where_more_was_sent_meanwhile() -> None:
    sender = _Sender()
    output, link = sender.output, sender.pair.dialer.link
    while output.has_room:
        output.add_small(1, _BIG)
    told: list[bool] = []
    output.room_comes.then(lambda: told.append(output.has_room))
    link.data_to_send()
    assert link.room(Lane.DELIVER) > 0
    output.add_small(1, b"more")
    output.flush()
    assert (output.has_room, told) == (False, [])
    sender.received()
    assert (output.has_room, told) == (True, [True])


def test_what_comes_later_goes_behind_what_waits() -> None:
    sender = _Sender()
    output, link = sender.output, sender.pair.dialer.link
    while output.has_room:
        output.add_small(1, _BIG)
    output.add_small(2, _BIG)
    sent = b"".join(link.data_to_send())
    assert link.room(Lane.DELIVER) > 0
    output.add_small(3, b"later")
    output.flush()
    sender.pair.dialer.way += sent
    assert [kind for kind, _ in sender.received()][-2:] == [2, 3]
