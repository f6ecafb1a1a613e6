from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqkit.errors import Closed
from mqkit.transport.native.replies import ANSWERS, Replies
from mqkit.wire import ReplyCode, WireError, methods


def test_answers_go_to_the_calls_in_order(answer: Callable[[], Any]) -> None:
    replies, first, second = Replies(), answer(), answer()
    replies.expect(methods.BasicGet, first)
    replies.expect(methods.QueuePurge, second)
    replies.answer(methods.BasicGetEmpty, "nothing")
    assert (first.result, second.done()) == ("nothing", False)
    replies.answer(methods.QueuePurgeOk, "3")
    assert (second.result, len(replies)) == ("3", 0)


def test_an_answer_to_something_else_is_the_brokers_mistake(answer: Callable[[], Any]) -> None:
    replies, promise = Replies(), answer()
    with pytest.raises(WireError):
        replies.answer(methods.QueuePurgeOk, None)
    replies.expect(methods.BasicGet, promise)
    with pytest.raises(WireError) as broken:
        replies.answer(methods.QueuePurgeOk, None)
    assert broken.value.reply_code is ReplyCode.COMMAND_INVALID
    assert not promise.done()


def test_who_gave_up_is_not_told_and_the_next_gets_its_own(answer: Callable[[], Any]) -> None:
    replies, gone, waiting = Replies(), answer(), answer()
    replies.expect(methods.QueuePurge, gone)
    replies.expect(methods.QueuePurge, waiting)
    gone.cancel()
    replies.answer(methods.QueuePurgeOk, "1")
    replies.answer(methods.QueuePurgeOk, "2")
    assert (gone.result, waiting.result) == (None, "2")


def test_all_fail_together(answer: Callable[[], Any]) -> None:
    replies, promises = Replies(), [answer(), answer(), answer()]
    for promise in promises:
        replies.expect(methods.QueuePurge, promise)
    promises[1].cancel()
    error = Closed("over")
    replies.fail(error)
    assert [promise.error for promise in promises] == [error, None, error]
    assert len(replies) == 0


def test_every_answer_is_a_method_of_its_calls_class() -> None:
    for request, answers in ANSWERS.items():
        assert {answer.CLASS_ID for answer in answers} == {request.CLASS_ID}
