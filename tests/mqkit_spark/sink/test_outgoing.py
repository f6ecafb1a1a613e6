"""mqkit_spark.sink.outgoing: messages of a run, by their positions."""

from __future__ import annotations

from typing import cast

from mqkit.message import Message, Properties
from mqkit.transport.blocking import BlockingChannel
from mqkit_spark.sink.outgoing import Outgoing, Run

CHANNEL = cast(BlockingChannel, object())
NAMED = Message("x", "k", b"body", Properties(message_id="m-1"))
NAMELESS = Message("x", "k", b"b" * 50)


def test_a_message_of_a_run_is_tried_once_more_as_what_it_was() -> None:
    run = Run([NAMED, NAMELESS], [7, 9], is_dead_letter=False, attempt=2, channel=CHANNEL)
    assert run.again(1, "nacked") == Outgoing(NAMELESS, 9, False, attempt=3, why="nacked")
    letters = Run([NAMED], [7], is_dead_letter=True, attempt=0, channel=CHANNEL)
    assert letters.again(0, "lost") == Outgoing(NAMED, 7, True, attempt=1, why="lost")


def test_an_error_names_a_message_by_its_id_or_its_row() -> None:
    run = Run([NAMED, NAMELESS], [7, 9], is_dead_letter=True, attempt=0, channel=CHANNEL)
    assert run.name(0) == "the dead letter of message 'm-1'"
    assert run.name(1) == f"the dead letter of row 9 ({b'b' * 40!r})"
    assert Outgoing(NAMED, 7, is_dead_letter=False).name == "message 'm-1'"
