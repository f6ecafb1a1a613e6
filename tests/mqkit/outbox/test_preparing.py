"""The step before a message becomes a row: for all sessions of the process, until it is undone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from mqkit.errors import ConfigurationError
from mqkit.message import Message
from mqkit.outbox.preparing import prepare_by, prepared
from mqkit.outbox.writing import publish, send


def marked(message: Message) -> Message:
    return message.with_headers({"mark": 1})


@pytest.fixture
def marking() -> Iterator[None]:
    undo = prepare_by(marked)
    yield
    undo()


def test_without_one_a_message_is_written_as_it_is() -> None:
    message = Message("", "q", b"")
    assert prepared(message) is message


@pytest.mark.usefixtures("marking")
def test_every_message_is_prepared() -> None:
    with Session(create_engine("sqlite://")) as session:
        rows = [publish(session, "", "q", "7"), send(session, Message("", "q", b"7"))]
        assert all("mark" in row.headers for row in rows)
        session.expunge_all()


def test_there_is_one_until_it_is_undone() -> None:
    undo = prepare_by(marked)
    with pytest.raises(ConfigurationError, match="traced already"):
        prepare_by(marked)
    undo()
    message = Message("", "q", b"")
    assert prepared(message) is message
    another = prepare_by(lambda message: message.with_headers({"other": 1}))
    undo()  # of the first, which has ended
    assert prepared(message).properties.headers == {"other": 1}
    another()
