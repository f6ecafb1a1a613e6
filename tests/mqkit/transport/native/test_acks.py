"""Ack frames say exactly what was acked: checked against a broker's own bookkeeping."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqkit.transport.native.acks import Acks


class Broker:
    """RabbitMQ's table of unacked deliveries of a channel."""

    def __init__(self) -> None:
        self.unacked: list[int] = []

    def acked(self, tag: int, *, multiple: bool) -> list[int]:
        assert tag in self.unacked, "406, unknown delivery tag"
        taken = [each for each in self.unacked if each == tag or (multiple and each < tag)]
        self.unacked = [each for each in self.unacked if each not in taken]
        return taken


def delivered(count: int) -> Acks:
    acks = Acks()
    for tag in range(1, count + 1):
        acks.delivered(tag)
    return acks


def test_a_row_of_acks_is_one_frame() -> None:
    acks = delivered(5)
    assert all(acks.ack(tag) for tag in (1, 2, 3))
    assert acks.is_pending
    assert acks.take() == [(3, True)]
    assert not acks.is_pending
    assert acks.ack(4)
    assert acks.take() == [(4, False)]
    assert acks.take() == []


def test_what_is_acked_ahead_goes_by_itself_until_the_gap_is_closed() -> None:
    acks = delivered(6)
    assert all(acks.ack(tag) for tag in (3, 5))
    assert acks.take() == [(3, False), (5, False)]
    assert all(acks.ack(tag) for tag in (6, 1, 2))
    assert acks.take() == [(2, True), (6, False)]
    assert acks.ack(4)
    assert acks.take() == [(4, False)]
    assert acks._floor == 6


def test_a_multiple_ack_names_a_delivery_that_is_still_unsettled() -> None:
    acks = delivered(4)
    acks.settled(3)  # nacked, and the broker knows
    assert all(acks.ack(tag) for tag in (1, 2))
    assert acks.take() == [(2, True)]
    assert acks.ack(4)
    assert acks.take() == [(4, False)]


def test_what_is_no_unsettled_delivery_is_for_the_broker_to_judge() -> None:
    acks = delivered(3)
    assert not acks.ack(99)
    assert not acks.ack(0)
    assert acks.ack(1)
    assert not acks.ack(1)
    assert acks.ack(3)
    assert not acks.ack(3)


def test_deliveries_without_ack_leave_no_gap() -> None:
    acks = Acks()
    acks.settled(1)
    acks.delivered(2)
    acks.settled(3)
    acks.delivered(4)
    assert all(acks.ack(tag) for tag in (2, 4))
    assert acks.take() == [(4, True)]


def test_what_was_settled_for_all_is_not_acked_again() -> None:
    acks = delivered(5)
    assert acks.ack(4)
    assert acks.take() == [(4, False)]
    acks.settled_up_to(3)
    assert acks.ack(5)
    assert acks.take() == [(5, False)]
    acks.delivered(6)
    acks.settled_up_to(0)
    assert not acks.ack(6)


@given(st.lists(st.tuples(st.sampled_from("dnax.m"), st.integers(0, 9)), max_size=80))
def test_every_delivery_is_acked_at_the_broker_exactly_when_it_was_here(
    steps: list[tuple[str, int]],
) -> None:
    acks, broker = Acks(), Broker()
    open_here: list[int] = []
    pending: list[int] = []
    count = 0

    def flush() -> None:
        said = [tag for frame in acks.take() for tag in broker.acked(*frame[:1], multiple=frame[1])]
        assert sorted(said) == sorted(pending)
        pending.clear()

    for step, choice in steps:
        if step == "d":
            count += 1
            acks.delivered(count)
            broker.unacked.append(count)
            open_here.append(count)
        elif step == "x":
            count += 1
            acks.settled(count)
        elif step == ".":
            flush()
        elif open_here:
            tag = open_here[choice % len(open_here)]
            if step == "a":
                assert acks.ack(tag)
                pending.append(tag)
                open_here.remove(tag)
            else:
                flush()
                broker.acked(tag, multiple=step == "m")
                if step == "m":
                    acks.settled_up_to(tag)
                    open_here = [each for each in open_here if each > tag]
                else:
                    acks.settled(tag)
                    open_here.remove(tag)
    flush()
    assert broker.unacked == open_here
