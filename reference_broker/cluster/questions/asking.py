"""The asking end: one question to several nodes, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import NamedTuple

from reference_broker.cluster.link.asks import Answered, Outcome
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.link.shell import LinkShell
from reference_broker.cluster.questions.question import (
    Answer,
    Question,
    decode_answer,
    encode_question,
)
from reference_broker.errors import Corrupt

ASK_S = 1.0
"""Seconds that anybody waits for an answer, but to what takes its time."""

FAILED = "failed"
"""In the head of an answer: why there is none."""


class Gathered(NamedTuple):
    """The answers, by node, and the nodes that gave none: no link, no answer in time, or none that
    can be read."""

    answers: Mapping[str, Answer]
    unreachable: Sequence[str]


class Fate(Enum):
    """The end of a question to one node. The value is its name for operators."""

    ANSWERED = "answered"
    FAILED = "failed"
    """The node says why it has no answer, or none that can be read came."""
    UNANSWERED = "unanswered"
    """Nothing came in time, or before the link was lost."""
    UNASKED = "unasked"
    """There was no link, or too much was asked over it already."""


class Asking:
    """Asks over ``links``, which are the open ones by node. ``fates`` are the numbers of questions
    whose fate is known, each to one node."""

    def __init__(self, links: Mapping[str, Link], shell: LinkShell) -> None:
        self.fates: Counter[Fate] = Counter()
        self._links = links
        self._shell = shell

    def ask(
        self,
        nodes: Sequence[str],
        question: Question,
        told: Callable[[Gathered], None],
        within_s: float = ASK_S,
    ) -> None:
        """Ask each of ``nodes``. ``told`` is called once, at the latest after ``within_s``; within
        this call where nobody can be asked. Raises :exc:`TooLong`."""
        octets = encode_question(question)
        gathering = _Gathering(nodes, told, self.fates)
        deadline = self._shell.now() + within_s
        for node in nodes:
            link = self._links.get(node)
            if link is None or not link.may_ask:
                gathering.take(node, None, Fate.UNASKED)
            else:
                link.ask(octets, deadline, partial(gathering.hear, node))
                self._shell.look_at(link)


class _Gathering:
    """The answers to one question, as they come."""

    def __init__(
        self, nodes: Sequence[str], told: Callable[[Gathered], None], fates: Counter[Fate]
    ) -> None:
        self._told = told
        self._fates = fates
        self._open = len(nodes)
        self._found: dict[str, Answer | None] = dict.fromkeys(nodes)
        if not nodes:
            told(Gathered({}, []))

    def hear(self, node: str, outcome: Outcome) -> None:
        if not isinstance(outcome, Answered):
            self.take(node, None, Fate.UNANSWERED)
            return
        answer = _readable(outcome)
        self.take(node, answer, Fate.FAILED if answer is None else Fate.ANSWERED)

    def take(self, node: str, answer: Answer | None, fate: Fate) -> None:
        self._fates[fate] += 1
        self._found[node] = answer
        self._open -= 1
        if not self._open:
            answers = {name: found for name, found in self._found.items() if found is not None}
            missing = [name for name in self._found if name not in answers]
            self._told(Gathered(answers, missing))


def _readable(outcome: Answered) -> Answer | None:
    """The answer; ``None`` for one that can't be read, or says that there is none."""
    try:
        answer = decode_answer(outcome.payload)
    except Corrupt:
        return None
    return None if FAILED in answer.head else answer
