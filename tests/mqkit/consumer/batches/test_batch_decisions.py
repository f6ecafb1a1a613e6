"""When a batch ends, and how it is settled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqkit.consumer.batches.batch_decisions import Step, Verb, Window, plan_settling


def test_a_full_batch_waits_no_longer() -> None:
    window = Window(size=3, within_s=2.0)
    assert window.remaining_s(2, first_at_s=10.0, now_s=10.5) == 1.5
    assert window.remaining_s(3, first_at_s=10.0, now_s=10.5) == 0.0
    assert window.remaining_s(1, first_at_s=10.0, now_s=12.0) == 0.0
    assert window.remaining_s(1, first_at_s=10.0, now_s=99.0) == 0.0


def test_the_finished_prefix_is_one_multiple_ack() -> None:
    assert plan_settling([True, True, False, True], alone=True) == [
        Step(Verb.ACK_MULTIPLE, 1, covers=2),
        Step(Verb.NACK, 2),
        Step(Verb.ACK, 3),
    ]
    assert plan_settling([True] * 5, alone=True) == [Step(Verb.ACK_MULTIPLE, 4, covers=5)]
    assert plan_settling([False, True], alone=True) == [Step(Verb.NACK, 0), Step(Verb.ACK, 1)]
    assert plan_settling([], alone=True) == []


@given(st.lists(st.booleans(), max_size=30))
def test_each_delivery_is_settled_once_and_as_it_should_be(finished: list[bool]) -> None:
    """As a broker does it: a multiple ack takes all that is unsettled up to its tag."""
    settled: dict[int, bool] = {}
    for step in plan_settling(finished, alone=True):
        before = len(settled)
        if step.verb is Verb.ACK_MULTIPLE:
            for index in range(step.index + 1):
                settled.setdefault(index, True)
        else:
            assert step.index not in settled
            settled[step.index] = step.verb is Verb.ACK
        assert len(settled) - before == step.covers
    assert [settled[index] for index in range(len(finished))] == finished


def test_the_next_batch_arrives_while_one_is_handled() -> None:
    assert Window(size=500, within_s=2.0).prefetch == 1000


def test_batches_that_are_handled_at_once_ack_each_message_by_itself() -> None:
    assert plan_settling([True, False, True], alone=False) == [
        Step(Verb.ACK, 0),
        Step(Verb.NACK, 1),
        Step(Verb.ACK, 2),
    ]
    assert Window(size=500, within_s=2.0, concurrency=3).prefetch == 2000
