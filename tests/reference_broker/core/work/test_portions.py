"""Whose portion comes next: virtual hosts take turns, in them their connections, and beside each
connection the virtual host's own work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import SLICE_UNITS, Portions
from reference_broker.core.work.task import Steps, raise_error
from reference_broker.core.work.until import Until


class Piece:
    """A job of ``slices`` slices, which writes into ``diary`` whenever it goes on, and takes what
    units it has, or as many as are said."""

    def __init__(
        self,
        rig: Rig,
        vhost_name: str,
        connection_id: int = 0,
        slices: int = 1,
        units: int | None = None,
        error: Exception | None = None,
    ) -> None:
        self._rig = rig
        self.vhost_name = vhost_name
        self.connection_id = connection_id
        self.slices = slices
        self._units = units
        self._error = error
        rig.portions.add(self)

    def advance(self) -> bool:
        budget = self._rig.budget
        self._rig.diary.append((self.vhost_name, self.connection_id))
        self._rig.given.append(budget.left)
        budget.left -= budget.left if self._units is None else self._units
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self.slices -= 1
        return self.slices <= 0


class Rig:
    """Portions with a budget, the ``diary`` of those that went on, and the units ``given`` to
    each."""

    def __init__(self, units: int = 4 * SLICE_UNITS) -> None:
        self.budget = Budget(units)
        self.portions = Portions(self.budget)
        self.diary: list[tuple[str, int]] = []
        self.given: list[int] = []

    def turn(self) -> list[tuple[str, int]]:
        """The entries of the diary of one more turn."""
        before = len(self.diary)
        self.budget.refill()
        self.portions.run()
        return self.diary[before:]


def test_a_virtual_host_with_a_thousand_jobs_keeps_another_ones_waiting_for_one_slice() -> None:
    rig = Rig()
    for number in range(1, 1_001):
        Piece(rig, "busy", number, slices=5)
    Piece(rig, "quiet", 2_000)

    assert ("quiet", 2_000) in rig.turn()[:2]


def test_a_connection_with_a_thousand_jobs_keeps_another_ones_waiting_for_one_slice() -> None:
    rig = Rig()
    for _ in range(1_000):
        Piece(rig, "v", 1, slices=5)
    Piece(rig, "v", 2)

    assert rig.turn()[:2] == [("v", 1), ("v", 2)]


def test_turns_are_taken_round_and_round() -> None:
    rig = Rig(6 * SLICE_UNITS)
    for vhost_name, connection_id in (("a", 1), ("a", 2), ("b", 3)):
        Piece(rig, vhost_name, connection_id, slices=9)

    assert rig.turn() == [("a", 1), ("b", 3), ("a", 2), ("b", 3), ("a", 1), ("b", 3)]
    assert rig.turn()[0] == ("a", 2), "and the next turn goes on where this one ended"


def test_the_virtual_hosts_own_work_has_a_slice_beside_each_of_a_connection() -> None:
    rig = Rig(6 * SLICE_UNITS)
    Piece(rig, "v", slices=9)
    for number in (1, 2, 3):
        Piece(rig, "v", number, slices=9)

    assert rig.turn() == [("v", 0), ("v", 1), ("v", 0), ("v", 2), ("v", 0), ("v", 3)]


def test_a_slice_is_an_eighth_of_a_turn_and_the_last_one_what_is_left() -> None:
    rig = Rig(2 * SLICE_UNITS + 100)
    for number in (1, 2, 3):
        Piece(rig, "v", number, slices=9)
    rig.turn()

    looks = 2  # each costs a unit
    assert rig.given == [SLICE_UNITS, SLICE_UNITS, 100 - looks]
    assert rig.budget.left == -1, "the turn ends when it is spent, with the last look"


def test_who_takes_more_than_a_slice_takes_it_off_the_turn() -> None:
    rig = Rig(4 * SLICE_UNITS)
    Piece(rig, "v", 1, units=4 * SLICE_UNITS, slices=9)
    Piece(rig, "v", 2, slices=9)

    assert rig.turn() == [("v", 1)]
    assert rig.turn() == [("v", 2), ("v", 1)], "and the other one has the next turn's first slice"


def test_who_only_waits_spends_something_so_that_a_turn_ends() -> None:
    rig = Rig(100)
    Piece(rig, "v", 1, units=0, slices=1 << 30)

    assert len(rig.turn()) == 100


def test_an_error_of_one_job_ends_that_job_and_loses_no_other() -> None:
    rig = Rig()
    Piece(rig, "v", slices=2, units=1)
    Piece(rig, "v", 1, units=1, error=ValueError("ours"))
    for vhost_name, connection_id in (("v", 1), ("v", 2), ("w", 3)):
        Piece(rig, vhost_name, connection_id, units=1)

    with pytest.raises(ValueError, match="ours"):
        rig.turn()
    assert rig.diary == [("v", 0), ("v", 1)]

    assert sorted(rig.turn()) == [("v", 0), ("v", 1), ("v", 2), ("w", 3)]
    assert not rig.portions


def test_an_error_of_the_virtual_hosts_own_work_does_not_end_it() -> None:
    rig = Rig()
    Piece(rig, "v", units=1, error=ValueError("ours"))
    Piece(rig, "v", 1, units=1)

    with pytest.raises(ValueError, match="ours"):
        rig.turn()
    assert rig.diary == [("v", 0)]
    assert sorted(rig.turn()) == [("v", 0), ("v", 1)], "its queues have others to serve"
    assert not rig.portions


def test_an_error_leaves_the_rest_of_the_turn() -> None:
    rig = Rig(4 * SLICE_UNITS)
    Piece(rig, "v", 1, units=10, error=ValueError("ours"))
    rig.budget.refill()
    with pytest.raises(ValueError, match="ours"):
        rig.portions.run()
    assert rig.budget.left == 4 * SLICE_UNITS - 11


def counting(rig: Rig, diary: list[int], steps: int) -> Steps:
    for number in range(steps):
        diary.append(number)
        rig.budget.left -= SLICE_UNITS
        yield None


def test_steps_begin_at_once_and_go_on_in_their_turn() -> None:
    rig = Rig(SLICE_UNITS)
    diary: list[int] = []
    ends: list[Exception | None] = []
    rig.portions.start(counting(rig, diary, 2), "v", 1, ends.append)
    assert (diary, ends) == ([0], [])

    rig.turn()
    assert (diary, ends) == ([0, 1], [])
    rig.turn()
    assert ends == [None]
    assert not rig.portions


def test_steps_that_end_at_once_are_never_listed() -> None:
    rig = Rig()
    ends: list[Exception | None] = []
    rig.portions.start(counting(rig, [], 0), "v", 1, ends.append)
    assert ends == [None]
    assert not rig.portions


def test_steps_that_wait_are_not_listed_meanwhile() -> None:
    rig = Rig()
    until = Until()
    happened: list[str] = []

    def waiting() -> Steps:
        yield until
        happened.append("yes")

    rig.portions.start(waiting(), "v", 1)
    assert not rig.portions, "a loop with nothing to do would not sleep"

    until.happened()
    rig.turn()
    assert happened == ["yes"]


@pytest.mark.parametrize("add", [lambda rig: Piece(rig, "w", 5), lambda rig: Piece(rig, "v", 5)])
@pytest.mark.parametrize("others", [0, 1])
def test_what_comes_while_others_go_on_has_its_turn(
    add: Callable[[Rig], Piece], others: int
) -> None:
    rig = Rig(4 * SLICE_UNITS)

    class Adding(Piece):
        def advance(self) -> bool:
            if self.slices == 9:
                add(rig)
            return super().advance()

    Adding(rig, "v", 1, slices=9)
    for number in range(others):
        Piece(rig, "v", 2 + number, slices=9)
    turns = [rig.turn(), rig.turn()]
    # One that is alone has the whole turn, and who comes meanwhile is the first or second after it.
    there = turns[0][:4] if others else turns[1][:2]
    assert 5 in [connection_id for _, connection_id in there]


def test_one_that_is_alone_goes_on_for_the_whole_turn() -> None:
    rig = Rig(4 * SLICE_UNITS)
    Piece(rig, "v", 1, slices=2)
    rig.turn()
    assert rig.given == [4 * SLICE_UNITS]
    Piece(rig, "v", 2)
    rig.turn()
    assert rig.given[1] == SLICE_UNITS, "two share it"


def test_whoever_is_told_of_an_end_is_told_once_though_it_raises() -> None:
    rig = Rig()
    told: list[Exception | None] = []

    def steps() -> Steps:
        yield None
        raise ValueError("a mistake")

    def done(error: Exception | None) -> None:
        told.append(error)
        raise_error(error)

    rig.portions.start(steps(), "v", done=done)
    with pytest.raises(ValueError, match="a mistake"):
        rig.turn()
    rig.turn()

    assert [str(error) for error in told] == ["a mistake"]
    assert not rig.portions
