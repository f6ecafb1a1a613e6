"""question: what goes over a link comes back as it was, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.asks import ASK_BYTES_MAX
from reference_broker.cluster.link.lane import MESSAGE_BYTES_MAX, Lane
from reference_broker.cluster.questions.question import (
    BODY_BYTES_MAX,
    HEAD_BYTES_MAX,
    Answer,
    Question,
    TooLong,
    decode_answer,
    decode_question,
    encode_answer,
    encode_question,
)
from reference_broker.errors import Corrupt

QUESTION = Question("http", {"path": "/api/queues", "query": [["a", "é"]]})
ANSWER = Answer({"status": 200}, b'{"n": 1}\n{"n": 2}')


def test_a_question() -> None:
    assert decode_question(memoryview(encode_question(QUESTION))) == QUESTION


def test_an_answer() -> None:
    octets = b"".join(encode_answer(ANSWER))
    assert decode_answer(memoryview(octets)) == ANSWER


def test_an_answer_without_a_body() -> None:
    octets = b"".join(encode_answer(Answer({}, b"")))
    assert decode_answer(memoryview(octets)) == Answer({}, b"")


@pytest.mark.parametrize(
    "octets",
    [b"", b"x", b"[]", b"{}", b'{"kind": 1, "arguments": {}}', b'{"kind": "k"}', b"\xff",
     b"[" * 99_999],
)  # fmt: skip
def test_what_is_no_question(octets: bytes) -> None:
    with pytest.raises(Corrupt):
        decode_question(memoryview(octets))


@pytest.mark.parametrize("octets", [b"", b"x\nbody", b"[]\n", b"3"])
def test_what_is_no_answer(octets: bytes) -> None:
    with pytest.raises(Corrupt):
        decode_answer(memoryview(octets))


def test_what_a_link_does_not_carry_is_not_encoded() -> None:
    with pytest.raises(TooLong):
        encode_question(Question("k", {"long": "x" * ASK_BYTES_MAX}))
    with pytest.raises(TooLong):
        encode_answer(Answer({}, bytes(BODY_BYTES_MAX + 1)))
    with pytest.raises(TooLong):
        encode_answer(Answer({"long": "x" * HEAD_BYTES_MAX}, b""))
    largest = encode_answer(Answer({}, bytes(BODY_BYTES_MAX)))
    assert sum(map(len, largest)) + HEAD_BYTES_MAX < MESSAGE_BYTES_MAX[Lane.ASK]
