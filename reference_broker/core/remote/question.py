"""A question to the home of a queue, as steps."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

from reference_broker.core.remote.ports import Counts, Got, Purged, Told
from reference_broker.core.work.until import Until
from reference_broker.errors import ChannelException

if TYPE_CHECKING:
    from reference_broker.core.remote.ports import Answer

Expected = TypeVar("Expected", Counts, Got, Purged)


def answered(
    ask: Callable[[Told], None], kind: type[Expected]
) -> Generator[Until | None, None, Expected]:
    """The steps of asking, and of waiting for an answer of that kind. Raises the
    :exc:`ChannelException` that comes in its place."""
    has_come = Until()
    answers: list[Answer] = []

    def told(answer: Answer) -> None:
        answers.append(answer)
        has_come.happened()

    ask(told)
    while not answers:
        yield has_come
    answer = answers[0]
    if isinstance(answer, ChannelException):
        raise answer
    assert isinstance(answer, kind)
    return answer
