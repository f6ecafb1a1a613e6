"""An event that work waits for: everybody is told once, in order, however they were told."""

from __future__ import annotations

from functools import partial

from reference_broker.core.work.until import Agreement, NotYet, Until


def test_those_who_wait_are_called_once_in_the_order_in_which_they_began_to() -> None:
    until = Until()
    called: list[str] = []
    for name in "abc":
        until.then(partial(called.append, name))
    assert len(until) == 3

    until.happened()
    until.happened()

    assert called == ["a", "b", "c"]
    assert len(until) == 0


def test_who_waits_again_when_called_waits_for_the_next_time() -> None:
    until = Until()
    called: list[int] = []

    def again() -> None:
        called.append(len(called))
        until.then(again)

    until.then(again)
    until.happened()
    assert (called, len(until)) == ([0], 1)

    until.happened()
    assert called == [0, 1]


def test_one_is_called_at_a_time_where_they_are_many() -> None:
    until = Until()
    called: list[str] = []
    for name in "ab":
        until.then(partial(called.append, name))
    until.happened_for_one()
    assert (called, len(until)) == (["a"], 1)
    until.happened_for_one()
    assert (called, len(until)) == (["a", "b"], 0)


def test_an_answer_that_has_to_wait_says_for_what() -> None:
    until = Until()
    assert NotYet(until).until is until


def test_who_waits_for_an_agreement_that_has_ended_goes_on_at_once() -> None:
    agreement, called = Agreement(is_new=True), list[str]()
    agreement.then(lambda: called.append("before"))
    assert called == []
    agreement.happened()
    agreement.then(lambda: called.append("behind"))
    assert called == ["before", "behind"]
    assert len(agreement) == 0
