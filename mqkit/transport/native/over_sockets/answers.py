"""Promises, deadlines and callbacks for the threads that use a blocking connection."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

from mqkit.errors import DeadlineExceeded

_T = TypeVar("_T")
_Argument = TypeVar("_Argument")

_LOG = logging.getLogger(__name__)


class Answer:
    """A promise that is kept when the turn is over, after what came before it."""

    __slots__ = ("_is_given", "_later", "future")

    def __init__(self, later: Callable[[Callable[[Any], None], Any], None]) -> None:
        self.future: Future[Any] = Future()
        self._later = later
        self._is_given = False

    def done(self) -> bool:
        return self._is_given

    def set_result(self, result: Any, /) -> None:
        self._is_given = True
        self._later(self.future.set_result, result)

    def set_exception(self, exception: BaseException, /) -> None:
        self._is_given = True
        self._later(self.future.set_exception, exception)


def wait_for(answer: Future[_T], what: str, timeout_s: float) -> _T:
    """Raises what the answer fails with, or :exc:`~mqkit.errors.DeadlineExceeded`."""
    try:
        return answer.result(timeout_s)
    except DeadlineExceeded:
        raise  # the answer itself; it is a TimeoutError too
    except FutureTimeout:
        raise DeadlineExceeded(f"no answer to {what} within {timeout_s:g} s") from None


def guarded(callback: Callable[[_Argument], None]) -> Callable[[_Argument], None]:
    """A user's callback: what it raises is logged, and ends nothing."""

    def call(argument: _Argument) -> None:
        try:
            callback(argument)
        except Exception:  # noqa: BLE001 - somebody else's callback ends nothing here
            _LOG.exception("a callback of a connection failed")

    return call
