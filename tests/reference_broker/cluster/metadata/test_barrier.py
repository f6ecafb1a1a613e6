"""barrier: no -ok before a live node has applied what it is about."""

from __future__ import annotations

from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.view import View


class Waiting:
    """A barrier, and the revisions whose tickets have passed, in their order."""

    def __init__(self) -> None:
        self.view = View()
        self.barrier = Barrier(self.view)
        self.view.listen(self.barrier.advance)
        self.passed: list[int] = []

    def ask(self, revision: int) -> None:
        ticket = self.barrier.ticket(revision)
        if self.barrier.passed.value >= ticket:
            self.passed.append(revision)
        else:
            self.barrier.passed.when_at(ticket, lambda: self.passed.append(revision))


def test_alone_it_is_the_own_view() -> None:
    waiting = Waiting()
    waiting.ask(5)
    assert waiting.passed == []
    waiting.view.reach(5)
    waiting.ask(4)
    assert waiting.passed == [5, 4]


def test_the_slowest_says_how_far() -> None:
    waiting = Waiting()
    waiting.barrier.join("b")
    waiting.barrier.join("c")
    waiting.view.reach(9)
    for revision in (6, 8, 9):
        waiting.ask(revision)
    waiting.barrier.applied("b", 8)
    assert waiting.passed == []
    waiting.barrier.applied("c", 6)
    assert waiting.passed == [6]
    waiting.barrier.applied("c", 12)
    assert waiting.passed == [6, 8]
    assert waiting.barrier.awaited == {"b": 8, "c": 12}


def test_what_all_have_seen_waits_for_nothing_that_others_wait_for() -> None:
    waiting = Waiting()
    waiting.barrier.join("b")
    waiting.view.reach(9)
    waiting.barrier.applied("b", 6)
    waiting.ask(9)
    waiting.ask(6)
    assert waiting.passed == [6]
    waiting.barrier.applied("b", 9)
    assert waiting.passed == [6, 9]


def test_the_own_view_counts() -> None:
    waiting = Waiting()
    waiting.barrier.join("b")
    waiting.barrier.applied("b", 20)
    waiting.ask(8)
    waiting.view.reach(7)
    assert waiting.passed == []
    waiting.view.reach(8)
    assert waiting.passed == [8]


def test_one_that_is_gone_is_not_waited_for() -> None:
    waiting = Waiting()
    waiting.barrier.join("b")
    waiting.view.reach(9)
    waiting.ask(9)
    waiting.barrier.leave("b")
    assert waiting.passed == [9]
    waiting.barrier.leave("b")


def test_one_that_is_there_again_with_an_old_view_is_waited_for() -> None:
    waiting = Waiting()
    waiting.view.reach(9)
    waiting.ask(9)
    waiting.barrier.join("b")
    waiting.barrier.applied("b", 7)
    waiting.ask(9)  # somebody else asks about the same
    assert waiting.passed == [9]
    waiting.barrier.applied("b", 9)
    assert waiting.passed == [9, 9]


def test_tickets_pass_in_their_order() -> None:
    waiting = Waiting()
    waiting.ask(9)
    waiting.ask(4)
    waiting.view.reach(5)
    assert waiting.passed == []
    waiting.view.reach(9)
    assert waiting.passed == [9, 4]


def test_one_that_is_not_live_and_one_that_repeats_itself_say_nothing() -> None:
    waiting = Waiting()
    waiting.barrier.join("b")
    waiting.barrier.applied("x", 50)
    waiting.barrier.applied("b", 5)
    waiting.barrier.applied("b", 3)
    assert waiting.barrier.awaited == {"b": 5}
    waiting.barrier.join("b")
    assert waiting.barrier.awaited == {"b": 5}
