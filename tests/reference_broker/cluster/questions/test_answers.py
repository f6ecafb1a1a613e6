"""answers: a question goes to whoever knows its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reference_broker.cluster.questions.answers import Answers
from reference_broker.cluster.questions.asking import FAILED
from reference_broker.cluster.questions.question import Answer, Question


def _double(
    node: str, arguments: dict[str, Any], reply: Callable[[dict[str, Any], bytes], None]
) -> None:
    reply({"twice": 2 * arguments["n"], "for": node}, b"body")


def test_whoever_knows_the_kind_answers() -> None:
    answers, replies = Answers(), list[Answer]()
    answers.answer_with("double", _double)
    answers.asked("b", Question("double", {"n": 4}), replies.append)
    assert replies == [Answer({"twice": 8, "for": "b"}, b"body")]


def test_a_kind_that_nobody_knows_has_no_answer() -> None:
    answers, replies = Answers(), list[Answer]()
    answers.answer_with("double", _double)
    answers.asked("b", Question("half", {"n": 4}), replies.append)
    assert replies == [Answer({FAILED: "a question of kind 'half'"}, b"")]
