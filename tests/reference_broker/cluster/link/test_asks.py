"""Questions: each has one outcome, and neither end has more open than it may."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.asks import (
    ASK_BYTES_MAX,
    OPEN_MAX,
    TOKEN,
    Answered,
    Asks,
    Outcome,
    Questions,
    Unanswered,
)
from reference_broker.errors import LinkError


def payload(token: bytes, *parts: bytes) -> memoryview:
    return memoryview(token + b"".join(parts))


def answer(outcome: Outcome) -> bytes:
    assert isinstance(outcome, Answered)
    return bytes(outcome.payload)


def test_an_answer_finds_its_question() -> None:
    asks = Asks()
    outcomes: dict[str, Outcome] = {}
    tokens = {
        name: asks.open(10.0, lambda outcome, name=name: outcomes.update({name: outcome}))  # type: ignore[misc]
        for name in ("a", "b", "c")
    }
    assert outcomes == {}
    for name in ("c", "a", "b"):
        asks.answer(payload(tokens[name], name.encode(), b" in parts"))
    assert {name: answer(outcome) for name, outcome in outcomes.items()} == {
        name: f"{name} in parts".encode() for name in "abc"
    }
    assert asks.next_deadline() is None


def test_a_question_whose_time_is_over_is_told_once_and_its_late_answer_dropped() -> None:
    asks = Asks()
    outcomes: list[Outcome] = []
    early = asks.open(10.0, outcomes.append)
    asks.open(20.0, outcomes.append)
    assert asks.next_deadline() == 10.0
    asks.expire(9.9)
    assert outcomes == []
    asks.expire(10.0)
    assert outcomes == [Unanswered("no answer came in time")]
    assert asks.next_deadline() == 20.0
    asks.answer(payload(early, b"late"))
    asks.end("the link ended: why")
    asks.end("again")
    assert outcomes[1:] == [Unanswered("the link ended: why")]


def test_one_that_is_late_keeps_its_place_until_it_is_answered() -> None:
    asks = Asks()
    outcomes: list[Outcome] = []
    tokens = [asks.open(1.0, outcomes.append) for _ in range(OPEN_MAX)]
    assert not asks.has_room
    with pytest.raises(AssertionError, match="256 questions are open"):
        asks.open(1.0, outcomes.append)
    asks.expire(1.0)
    assert len(outcomes) == OPEN_MAX
    assert not asks.has_room
    asks.answer(payload(tokens[7]))
    assert asks.has_room


@pytest.mark.parametrize("token", [TOKEN.pack(2), TOKEN.pack(0), b"short"], ids=repr)
def test_an_answer_to_no_question(token: bytes) -> None:
    asks = Asks()
    asks.answer(payload(asks.open(1.0, lambda outcome: None)))
    asks.open(1.0, lambda outcome: None)
    if token == TOKEN.pack(2):
        asks.answer(payload(token))
    with pytest.raises(LinkError, match=r"which is not open|without a token"):
        asks.answer(payload(token))


def test_questions_of_the_other_end_are_counted_until_they_are_answered() -> None:
    questions = Questions()
    for token in range(1, OPEN_MAX + 1):
        found, question = questions.take(payload(TOKEN.pack(token), b"what"))
        assert (found, bytes(question)) == (token, b"what")
    assert len(questions) == OPEN_MAX
    with pytest.raises(LinkError, match="more than 256 questions are open"):
        questions.take(payload(TOKEN.pack(OPEN_MAX + 1)))
    assert questions.close(9) == TOKEN.pack(9)
    questions.take(payload(TOKEN.pack(OPEN_MAX + 1)))
    with pytest.raises(KeyError):
        questions.close(9)


def test_a_question_that_may_not_come() -> None:
    questions = Questions()
    questions.take(payload(TOKEN.pack(5)))
    with pytest.raises(LinkError, match="question 5 came after question 5"):
        questions.take(payload(TOKEN.pack(5)))
    with pytest.raises(LinkError, match="more than 65536 octets"):
        questions.take(payload(TOKEN.pack(6), bytes(ASK_BYTES_MAX + 1)))
    questions.take(payload(TOKEN.pack(6), bytes(ASK_BYTES_MAX)))
