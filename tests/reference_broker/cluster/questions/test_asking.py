"""asking: one question to several nodes, and who has answered in time."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.asks import OPEN_MAX
from reference_broker.cluster.questions.answering import Reply
from reference_broker.cluster.questions.asking import ASK_S, FAILED, Asking, Fate, Gathered
from reference_broker.cluster.questions.question import Answer, Question, TooLong
from reference_broker.testing.mesh_net import MeshNet

QUESTION = Question("k", {"n": 1})


class Answers:
    """An answerer that keeps what it is asked, and answers when it is told to."""

    def __init__(self) -> None:
        self.asked_of: list[tuple[str, Question]] = []
        self.replies: list[Reply] = []

    def asked(self, node: str, question: Question, reply: Reply) -> None:
        self.asked_of.append((node, question))
        self.replies.append(reply)


class Nodes:
    """The asking of ``a``, and the answers of the others."""

    def __init__(self) -> None:
        self.net = MeshNet("a", "b", "c").linked()
        self.answers: dict[str, Answers] = {}
        for name in "bc":
            answers = self.answers[name] = Answers()
            self.net.nodes[name].mesh.answering.answerer = answers
        a = self.net.nodes["a"]
        self.asking = Asking(a.mesh.links, a.shell)
        self.found: list[Gathered] = []

    def ask(self, *nodes: str) -> None:
        self.asking.ask(nodes, QUESTION, self.found.append)
        self.net.settle()

    def reply(self, node: str, answer: Answer) -> None:
        self.answers[node].replies.pop(0)(answer)
        self.net.settle()


def test_it_is_told_when_everybody_has_answered() -> None:
    nodes = Nodes()
    nodes.ask("b", "c")
    assert nodes.answers["b"].asked_of == nodes.answers["c"].asked_of == [("a", QUESTION)]
    nodes.reply("c", Answer({"of": "c"}, b"x"))
    assert nodes.found == []
    nodes.reply("b", Answer({"of": "b"}, b""))
    assert nodes.found == [
        Gathered({"b": Answer({"of": "b"}, b""), "c": Answer({"of": "c"}, b"x")}, [])
    ]


def test_who_says_nothing_is_unreachable_after_a_second() -> None:
    nodes = Nodes()
    nodes.ask("b", "c")
    nodes.reply("c", Answer({}, b""))
    nodes.net.pass_time(ASK_S - 0.1)
    assert nodes.found == []
    nodes.net.pass_time(0.15)
    assert [list(each.unreachable) for each in nodes.found] == [["b"]]
    nodes.reply("b", Answer({}, b""))
    assert len(nodes.found) == 1


def test_who_has_no_link_is_unreachable_at_once() -> None:
    nodes = Nodes()
    nodes.ask("d")
    assert nodes.found == [Gathered({}, ["d"])]
    nodes.ask()
    assert nodes.found[1] == Gathered({}, [])


def test_a_link_that_is_lost_meanwhile_is_not_waited_for() -> None:
    nodes = Nodes()
    nodes.ask("b")
    nodes.net.nodes["a"].mesh.links["b"].lost("cut")
    assert nodes.found == [Gathered({}, ["b"])]


def test_who_has_no_answer_is_unreachable() -> None:
    nodes = Nodes()
    nodes.ask("b")
    nodes.reply("b", Answer({FAILED: "why"}, b""))
    assert nodes.found == [Gathered({}, ["b"])]


def test_nobody_is_asked_too_much_at_once() -> None:
    nodes = Nodes()
    for _ in range(OPEN_MAX + 1):
        nodes.ask("b")
    assert nodes.found == [Gathered({}, ["b"])]
    with pytest.raises(TooLong):
        nodes.asking.ask(("c",), Question("k", {"x": "x" * 70_000}), nodes.found.append)


def test_the_fate_of_each_question_is_counted() -> None:
    nodes = Nodes()
    nodes.ask("b", "c", "nobody")
    nodes.reply("b", Answer({}, b""))
    assert nodes.asking.fates == {Fate.UNASKED: 1, Fate.ANSWERED: 1}
    nodes.reply("c", Answer({FAILED: "no"}, b""))
    nodes.ask("b")
    nodes.net.pass_time(ASK_S + 0.1)
    assert nodes.asking.fates == {
        Fate.UNASKED: 1, Fate.ANSWERED: 1, Fate.FAILED: 1, Fate.UNANSWERED: 1,
    }  # fmt: skip
