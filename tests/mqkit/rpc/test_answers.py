"""Answers as messages, and read back."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from mqkit.errors import ConfigurationError, RemoteError
from mqkit.incoming import BodyMisfit
from mqkit.message import Delivery, Message, Properties
from mqkit.rpc.answers import answer_to, failure_answer, reply_decoder, value_of

QUESTION = Delivery(
    "prices",
    "quote",
    b"secret question",
    Properties(message_id="m", correlation_id="c", reply_to="amq.rabbitmq.reply-to.x"),
    1,
    False,
)


class Quote(BaseModel):
    cents: int


def delivered(answer: Message) -> Delivery:
    return Delivery(answer.exchange, answer.routing_key, answer.body, answer.properties, 1, False)


@pytest.mark.parametrize(
    ("value", "reply"),
    [
        (Quote(cents=5), Quote),
        (b"\xff", bytes),
        ("text", str),
        (None, type(None)),
        ([1, 2], list[int]),
        (3, Annotated[int, Field(gt=2)]),
    ],
)
def test_a_value_goes_to_the_address_of_the_question_and_is_read_back(
    value: Any, reply: Any
) -> None:
    answer = answer_to(QUESTION, value)
    assert (answer.exchange, answer.routing_key) == ("", "amq.rabbitmq.reply-to.x")
    assert not answer.mandatory  # RabbitMQ returns a mandatory one that it has delivered
    assert not answer.properties.persistent
    assert answer.properties.correlation_id == "c"
    assert value_of(delivered(answer), reply_decoder(reply)) == value


def test_a_failure_is_its_type_and_text_and_nothing_else() -> None:
    answer = failure_answer(QUESTION, KeyError("no such customer"))
    assert b"secret" not in answer.body
    with pytest.raises(RemoteError) as failed:
        value_of(delivered(answer), reply_decoder(Quote))
    assert (failed.value.error_type, failed.value.text) == ("KeyError", "'no such customer'")


def test_a_failure_is_bounded() -> None:
    answer = failure_answer(QUESTION, ValueError("x" * 1_000_000))
    assert len(answer.body) <= 1024


def test_a_value_of_another_type_is_a_misfit() -> None:
    with pytest.raises(BodyMisfit, match="cents"):
        value_of(delivered(answer_to(QUESTION, {"euros": 1})), reply_decoder(Quote))


def test_a_type_that_json_has_not_is_refused() -> None:
    class Plain:
        pass

    with pytest.raises(ConfigurationError, match=r"the call asks for .*Plain"):
        reply_decoder(Plain)


def test_the_decoder_of_a_type_is_made_once() -> None:
    assert reply_decoder(Quote) is reply_decoder(Quote)
