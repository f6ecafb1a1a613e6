"""mqkit_spark.sink.dead_letters: the message as it was, and what was wrong with it."""

from __future__ import annotations

from dataclasses import replace

from mqkit.message import Message, Properties
from mqkit_spark.options import OnBadRow, SinkOptions
from mqkit_spark.sink.dead_letters import ERROR_LETTERS_MAX, dead_letter

OPTIONS = SinkOptions(
    url="amqp://h/", exchange="x", on_bad_row=OnBadRow.DEADLETTER, dead_letter_exchange="dlx"
)
MESSAGE = Message(
    "x", "k", b"body", Properties(message_id="1", priority=3, headers={"h": 1}, expiration_ms=9)
)


def test_body_and_properties_stay_and_headers_say_why() -> None:
    letter = dead_letter(MESSAGE, why="w" * 1000, partition=2, row=5, options=OPTIONS)
    assert (letter.exchange, letter.routing_key, letter.body) == ("dlx", "k", b"body")
    assert letter.mandatory, "a dead letter that no queue takes must come back"
    headers = letter.properties.headers
    assert headers == {
        "h": 1,
        "x-mqkit-error": "w" * ERROR_LETTERS_MAX,
        "x-mqkit-partition": 2,
        "x-mqkit-row": 5,
        "x-mqkit-original-exchange": "x",
        "x-mqkit-original-routing-key": "k",
    }
    expected = replace(MESSAGE.properties, headers=headers, expiration_ms=None)
    assert letter.properties == expected


def test_a_key_that_is_given_stands_for_the_messages_own() -> None:
    options = replace(OPTIONS, dead_letter_routing_key="lost")
    letter = dead_letter(MESSAGE, why="w", partition=0, row=0, options=options)
    assert letter.routing_key == "lost"
    assert letter.properties.headers["x-mqkit-original-routing-key"] == "k"
