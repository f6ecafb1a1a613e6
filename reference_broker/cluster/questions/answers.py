"""The answers of a node to questions of every kind, by those who know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from reference_broker.cluster.questions.answering import Reply
from reference_broker.cluster.questions.asking import FAILED
from reference_broker.cluster.questions.question import Answer, Question


class Kind(Protocol):
    """Whoever answers one kind of question."""

    def __call__(
        self, node: str, arguments: dict[str, Any], reply: Callable[[dict[str, Any], bytes], None]
    ) -> None:
        """See :meth:`~reference_broker.cluster.questions.answering.Answerer.asked`."""
        ...


class Answers:
    """An :class:`~reference_broker.cluster.questions.answering.Answerer` that hands each question
    to whoever answers that kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, Kind] = {}

    def answer_with(self, kind: str, answers: Kind) -> None:
        """Have ``answers`` answer questions of that kind from now on."""
        self._kinds[kind] = answers

    def asked(self, node: str, question: Question, reply: Reply) -> None:
        """See :class:`~reference_broker.cluster.questions.answering.Answerer`."""
        answers = self._kinds.get(question.kind)
        if answers is None:
            reply(Answer({FAILED: f"a question of kind {question.kind!r}"}, b""))
        else:
            answers(node, question.arguments, lambda head, body: reply(Answer(head, body)))
