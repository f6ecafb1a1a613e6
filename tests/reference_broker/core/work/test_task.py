"""Steps that are under way: continued where they stopped, ended once, with their error."""

from __future__ import annotations

from functools import partial

import pytest

from reference_broker.core.work.budget import METHOD_UNITS, Budget
from reference_broker.core.work.task import (
    Steps,
    Task,
    agreed,
    at_once,
    begun_with,
    followed_by,
    raise_error,
    tell_each,
)
from reference_broker.core.work.until import Agreement, NotYet, Until
from reference_broker.errors import NotAgreed, ReplyCode


class Rig:
    """A task of ``steps``, with what it was listed for and how it has ended."""

    def __init__(self, steps: Steps) -> None:
        self.listed: list[Task] = []
        self.ends: list[Exception | None] = []
        self.task = Task(self.listed.append, steps, "v", 7, self.ends.append)


def test_steps_go_on_where_they_stopped_and_end_once() -> None:
    done = []

    def steps() -> Steps:
        done.append(1)
        yield None
        done.append(2)

    rig = Rig(steps())
    assert not rig.task.advance(), "more is to be done in a later turn"
    assert (done, rig.ends) == ([1], [])

    assert rig.task.advance()
    assert (done, rig.ends) == ([1, 2], [None])
    assert (rig.task.vhost_name, rig.task.connection_id) == ("v", 7)


def test_steps_that_wait_are_not_asked_before_it_has_happened() -> None:
    until = Until()

    def steps() -> Steps:
        yield until
        yield None

    rig = Rig(steps())
    assert rig.task.advance(), "there is nothing to go on with"
    assert (rig.listed, rig.ends) == ([], [])

    until.happened()
    assert rig.listed == [rig.task]
    assert not rig.task.advance()
    assert rig.task.advance()
    assert rig.ends == [None]


def test_whoever_began_them_is_told_of_their_error() -> None:
    error = ValueError("ours")

    def steps() -> Steps:
        yield None
        raise error

    rig = Rig(steps())
    rig.task.advance()
    assert rig.task.advance()
    assert rig.ends == [error]


def test_an_error_that_nobody_waits_for_is_raised() -> None:
    raise_error(None)
    with pytest.raises(ValueError, match="ours"):
        raise_error(ValueError("ours"))


def test_steps_of_which_the_first_was_taken_already() -> None:
    until = Until()
    done = []

    def steps() -> Steps:
        done.append(1)
        yield until
        done.append(2)
        yield None

    begun = steps()
    first = next(begun)
    assert list(begun_with(first, begun)) == [until, None]
    assert done == [1, 2], "none was taken twice"


def test_steps_that_something_follows() -> None:
    done: list[int] = []

    def steps() -> Steps:
        done.append(1)
        yield None

    followed = followed_by(steps(), lambda: done.append(2))
    assert next(followed) is None
    assert done == [1]
    assert next(followed, "ended") == "ended"
    assert done == [1, 2]


def test_those_who_wait_are_told_some_in_each_turn() -> None:
    until, budget, told = Until(), Budget(2 * METHOD_UNITS), list[int]()
    for number in range(5):
        until.then(partial(told.append, number))
    counts = []
    for _ in tell_each(until, budget):
        counts.append(len(told))
        budget.refill()
    assert (counts, told) == ([2, 4], [0, 1, 2, 3, 4])


def test_what_has_to_wait_for_other_nodes_is_done_again_from_its_checks() -> None:
    asked = [Agreement(is_new=True), Agreement(is_new=True)]
    left = list(asked)

    def act() -> None:
        if left:
            raise NotYet(left.pop(0))

    assert list(agreed(act)) == asked
    assert list(agreed(act)) == []


def test_what_nobody_can_be_asked_for_is_not_done_again() -> None:
    asked = Agreement(is_new=True)
    asked.failure = NotAgreed(ReplyCode.INTERNAL_ERROR, "etcd is not there")

    def act() -> None:
        raise NotYet(asked)

    steps = agreed(act)
    assert next(steps) is asked
    with pytest.raises(NotAgreed, match="etcd is not there"):
        next(steps)


def _piece(name: str, told: list[str], until: Until | None) -> Steps:
    told.append(f"{name} begins")
    if until is not None:
        yield until
        told.append(f"{name} goes on")
    yield None


def test_a_piece_that_waits_holds_up_no_other_until_many_wait() -> None:
    told: list[str] = []
    first, second, third = Until(), Until(), Until()
    waits = [("a", first), ("b", None), ("c", second), ("d", third), ("e", None)]
    steps = at_once((_piece(name, told, until) for name, until in waits), 2)
    assert next(steps) is None, "b has one step"
    over = next(steps)
    assert told == ["a begins", "b begins", "c begins"]
    first.happened()
    happened: list[int] = []
    assert over is not None
    over.then(lambda: happened.append(1))
    assert happened == [1], "it has happened before anybody could wait for it"
    assert next(steps) is None, "a's last one"
    assert told[3:] == ["a goes on"]
    assert next(steps) is not None, "c and d wait"
    third.happened()
    second.happened()
    assert all(each is None for each in steps), "what has happened is not waited for again"
    assert told[4:] == ["d begins", "c goes on", "e begins", "d goes on"]


def test_a_piece_that_fails_ends_all_of_them() -> None:
    told: list[str] = []

    def fails() -> Steps:
        yield None
        raise LookupError("b is gone")

    steps = at_once((piece for piece in (_piece("a", told, Until()), fails())), 2)
    assert next(steps) is None
    with pytest.raises(LookupError, match="b is gone"):
        next(steps)
    assert told == ["a begins"]
    assert list(steps) == []
