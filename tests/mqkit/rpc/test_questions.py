"""mqkit.rpc.questions: a message as a question, and what is told of one without an answer."""

from __future__ import annotations

import pytest

from mqkit.errors import CallRejected, ChannelError, Closed, ConnectionLost, MqkitError
from mqkit.message import Message, Properties
from mqkit.rpc.headers import DEADLINE, DIRECT_REPLY_TO
from mqkit.rpc.questions import lost_call, no_answer, question_of

MESSAGE = Message("prices", "quote", b"?", Properties(message_id="m", headers={"a": 1}))


def test_a_question_has_an_address_a_deadline_and_an_id_of_its_own() -> None:
    one, two = (question_of(MESSAGE, 7000, 1) for _ in range(2))
    assert one.properties.headers == {"a": 1, DEADLINE: 7000}
    assert (one.properties.reply_to, one.properties.persistent) == (DIRECT_REPLY_TO, False)
    assert one.properties.message_id == "m"
    assert one.properties.correlation_id != two.properties.correlation_id
    assert MESSAGE.properties.headers == {"a": 1}


def test_one_that_is_too_large_is_rejected() -> None:
    with pytest.raises(CallRejected, match="too large: 1 bytes; the limit is 0"):
        question_of(MESSAGE, 7000, 0)


def test_the_deadline_says_what_was_waited_for() -> None:
    error = no_answer(MESSAGE, 2.0, "blocked")
    assert str(error) == "no answer from 'prices' 'quote' within 2 s (client: blocked)"


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (Closed("the client is closed"), Closed),
        (ConnectionLost("cut"), ConnectionLost),
        (ChannelError(406, "PRECONDITION_FAILED"), ConnectionLost),
    ],
    ids=["closed", "lost", "refused"],
)
def test_an_end_is_told_to_each_as_an_error_of_its_own(
    end: MqkitError, told: type[MqkitError]
) -> None:
    first, second = lost_call(end), lost_call(end)
    assert type(first) is type(second) is told
    assert first is not second
    assert str(end) in str(first)
