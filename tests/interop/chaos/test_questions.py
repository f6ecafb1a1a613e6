"""Questions and answers."""

from __future__ import annotations

from interop.chaos.questions import Way, answer_of, complaint_of, way_of


def test_no_two_questions_have_the_same_answer() -> None:
    assert len({answer_of(number) for number in range(20_000)}) == 20_000


def test_every_way_is_taken() -> None:
    assert {way_of(number) for number in range(100)} == set(Way)


def test_a_complaint_names_its_question_and_no_other() -> None:
    assert complaint_of(1) not in complaint_of(11)
