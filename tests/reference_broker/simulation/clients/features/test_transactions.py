"""The law of commits that no answer came for: no ack without all of the publishes."""

from __future__ import annotations

from random import Random

import pytest

from reference_broker.simulation.clients.features.line import Line, Taken
from reference_broker.simulation.clients.features.transactions import Transactions
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.watch.checkers import Violation


class Told:
    """A feature whose line has sent a commit: it acks message 1 of "left", and publishes message 2
    to "right". The line ended before the answer."""

    def __init__(self) -> None:
        clock = SimulatedClock()
        self.feature = Transactions(Random("told"), clock)
        self.line = Line(1, self.feature, lambda data: None, clock.wall_ms)
        self.feature.post(self.line, [("left",)])
        self.first = Taken("left", "left/0", 1, False, {}, 0)
        self.line.held[1] = self.first
        self.feature.draining = True  # it acks all it holds, and commits
        self.feature.act(self.line)
        (commit,) = self.feature._open.values()
        commit.posts.append(self.feature.post(self.line, [("right",)]))
        self.feature.ended(self.line)

    def found(self, *, left: set[int], right: set[int]) -> None:
        self.feature.found({"left": left, "right": right})


def test_all_of_it_may_be_there_or_nothing() -> None:
    Told().found(left=set(), right={2})
    Told().found(left={1}, right=set())


def test_a_part_may_be_there_but_no_ack_alone() -> None:
    Told().found(left={1}, right={2})
    with pytest.raises(Violation, match="has acked message 1, and message 2, which it published"):
        Told().found(left=set(), right=set())


def test_what_came_again_was_acked_by_another_commit() -> None:
    told = Told()
    told.feature.delivered(told.line, told.first)
    told.found(left=set(), right=set())


def test_what_came_was_published_and_may_be_acked_since() -> None:
    told = Told()
    told.feature.delivered(told.line, Taken("right", "right/0", 2, False, {}, 0))
    told.found(left=set(), right=set())


def test_a_start_asks_once() -> None:
    told = Told()
    told.found(left=set(), right={2})
    told.found(left=set(), right=set())
