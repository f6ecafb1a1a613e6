from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from mqkit.errors import Closed, DeadlineExceeded
from mqkit.transport.native.over_sockets.answers import Answer, guarded, wait_for


def test_an_answer_is_given_at_once_and_told_later() -> None:
    told: list[tuple[Callable[[Any], None], Any]] = []
    result, failure = (Answer(lambda call, value: told.append((call, value))) for _ in range(2))
    result.set_result(7)
    failure.set_exception(Closed("over"))
    assert result.done()
    assert not result.future.done()
    for call, value in told:
        call(value)
    assert wait_for(result.future, "it", 0) == 7
    with pytest.raises(Closed):
        wait_for(failure.future, "it", 0)


def test_a_deadline_says_what_was_waited_for_and_keeps_the_words_of_another() -> None:
    with pytest.raises(DeadlineExceeded, match="no answer to the bind within 0 s"):
        wait_for(Future(), "the bind", 0)
    late: Future[None] = Future()
    late.set_exception(DeadlineExceeded("somebody else was late"))
    with pytest.raises(DeadlineExceeded, match="somebody else"):
        wait_for(late, "the bind", 0)


def test_what_a_callback_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: int) -> None:
        raise ValueError("of the user")

    with caplog.at_level(logging.ERROR):
        guarded(fail)(1)
    assert "of the user" in caplog.text
