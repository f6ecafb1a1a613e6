"""answering: a few questions of each link at a time, and none whose time is over."""

from __future__ import annotations

from reference_broker.cluster.link.asks import Answered, Outcome
from reference_broker.cluster.link.lane import WINDOWS, Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.questions.answering import AT_ONCE, Reply
from reference_broker.cluster.questions.asking import ASK_S, FAILED
from reference_broker.cluster.questions.question import (
    BODY_BYTES_MAX,
    Answer,
    Question,
    decode_answer,
    encode_question,
)
from reference_broker.testing.mesh_net import MeshNet


class Asked:
    """``b``, which answers when it is told to, and what ``a`` hears of it."""

    def __init__(self) -> None:
        self.net = MeshNet("a", "b").linked()
        self.replies: list[tuple[Question, Reply]] = []
        self.heard: list[Answer | str] = []
        self.answering = self.net.nodes["b"].mesh.answering
        self.answering.answerer = self

    @property
    def link(self) -> Link:
        """The link at the end of ``a``."""
        return self.net.nodes["a"].mesh.links["b"]

    def asked(self, node: str, question: Question, reply: Reply) -> None:
        assert node == "a"
        self.replies.append((question, reply))

    def ask(self, number: int, within_s: float = ASK_S) -> None:
        question = encode_question(Question("k", {"n": number}))
        self.link.ask(question, self.net.now() + within_s, self._told)
        self.net.settle()

    def _told(self, outcome: Outcome) -> None:
        if isinstance(outcome, Answered):
            self.heard.append(decode_answer(outcome.payload))
        else:
            self.heard.append(outcome.reason)

    @property
    def numbers(self) -> list[int]:
        """The questions that are being answered."""
        return [question.arguments["n"] for question, _ in self.replies]

    def reply(self, answer: Answer) -> None:
        self.replies.pop(0)[1](answer)
        self.net.settle()


def test_a_few_at_a_time_in_their_order() -> None:
    asked = Asked()
    for number in range(AT_ONCE + 2):
        asked.ask(number)
    assert asked.numbers == list(range(AT_ONCE))
    asked.reply(Answer({"n": 0}, b"body"))
    assert asked.heard == [Answer({"n": 0}, b"body")]
    assert asked.numbers == list(range(1, AT_ONCE + 1))


def test_a_question_whose_time_is_over_is_not_looked_at() -> None:
    asked = Asked()
    for number in range(AT_ONCE + 1):
        asked.ask(number, within_s=5)
    asked.net.pass_time(ASK_S + 0.1)
    asked.reply(Answer({}, b""))
    assert asked.heard == [Answer({}, b""), Answer({FAILED: "too much is asked"}, b"")]
    asked.ask(9)
    assert asked.numbers == [1, 2, 3, 9]


def test_an_answer_that_waits_for_the_link_is_one_of_the_few() -> None:
    asked = Asked()
    for number in range(AT_ONCE + 1):
        asked.ask(number)
    replies, asked.replies = asked.replies, []
    for _, reply in replies:
        reply(Answer({}, bytes(BODY_BYTES_MAX)))
    assert asked.numbers == [AT_ONCE]  # the first one has gone into the lane
    end = asked.net.nodes["b"].mesh.links["a"]
    assert end.held_bytes < 2 * WINDOWS[Lane.ASK]
    asked.net.settle()
    assert [isinstance(each, Answer) for each in asked.heard] == [True] * AT_ONCE


def test_an_answer_that_is_too_long_is_none() -> None:
    asked = Asked()
    asked.ask(1)
    asked.reply(Answer({}, bytes(BODY_BYTES_MAX + 1)))
    (answer,) = asked.heard
    assert isinstance(answer, Answer)
    assert list(answer.head) == [FAILED]


def test_nobody_hears_an_answer_over_another_link() -> None:
    asked = Asked()
    asked.ask(1)
    asked.link.lost("cut")
    asked.net.settle()
    asked.reply(Answer({}, b""))
    asked.net.pass_time(0.3)
    assert asked.heard == ["the link ended: cut"]
    asked.ask(2)
    asked.reply(Answer({"n": 2}, b""))
    assert asked.heard[1:] == [Answer({"n": 2}, b"")]


def test_many_questions_that_are_answered_at_once() -> None:
    asked = Asked()
    asked.answering.answerer = None
    for number in range(200):
        asked.link.ask(
            encode_question(Question("k", {"n": number})), asked.net.now() + 1, asked._told
        )
    asked.net.settle()
    assert asked.heard == [Answer({FAILED: "nobody answers here yet"}, b"")] * 200


def test_what_is_no_question_ends_the_link() -> None:
    asked = Asked()
    asked.link.ask(b"no JSON", asked.net.now() + 1, asked._told)
    asked.net.settle()
    assert "a question that is no JSON" in str(asked.heard[0])
