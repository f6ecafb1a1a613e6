"""Questions to the node at the other end, and its questions to this one.

A question and its answer carry a token, a u64 in front of what is asked or answered. Tokens rise,
and are not used twice on a connection. A question whose time is over keeps its place among the
open ones until it is answered, or the link ends: the other end is still at it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from reference_broker.errors import LinkError

OPEN_MAX = 256
"""Questions that one end may have open at once: what a page of the management shows is a few."""

ASK_BYTES_MAX = 64 * 1024
"""Octets of a question. (They are handed over without waiting for an answer to be made, or two
nodes whose questions filled the window could not answer: so all open ones may be held at once.)"""

TOKEN = struct.Struct(">Q")


class Answered(NamedTuple):
    """The answer. It keeps what was received alive: copy what you keep."""

    payload: memoryview


class Unanswered(NamedTuple):
    """No answer came in time, or none will. Whether the other end acted is not known."""

    reason: str


Outcome = Answered | Unanswered
Told = Callable[[Outcome], None]


class Asks:
    """The open questions of this end. Each is told its outcome once, never within
    :meth:`open`."""

    __slots__ = ("_given", "_late", "_open")

    def __init__(self) -> None:
        self._given = 0
        self._open: dict[int, tuple[float, Told]] = {}
        self._late: set[int] = set()
        """Those whose time is over, and whose answer still may come."""

    @property
    def has_room(self) -> bool:
        """True if one more may be asked."""
        return len(self._open) + len(self._late) < OPEN_MAX

    def open(self, deadline: float, told: Told) -> bytes:
        """Begin a question; the token to put in front of it. Ask ``has_room`` first."""
        if not self.has_room:
            raise AssertionError(f"{OPEN_MAX} questions are open, and nobody asked")
        self._given += 1
        self._open[self._given] = (deadline, told)
        return TOKEN.pack(self._given)

    def answer(self, payload: memoryview) -> None:
        """Take an answer; one that is late is dropped. Raises :exc:`LinkError` for one to nothing
        that is open."""
        token = _token(payload)
        if token in self._late:
            self._late.remove(token)
            return
        if token not in self._open:
            raise LinkError(f"an answer to question {token}, which is not open")
        _, told = self._open.pop(token)
        told(Answered(payload[TOKEN.size :]))

    def expire(self, now: float) -> None:
        """Tell those whose time is over."""
        over = [token for token, (deadline, _) in self._open.items() if deadline <= now]
        self._late.update(over)
        for _, told in [self._open.pop(token) for token in over]:
            told(Unanswered("no answer came in time"))

    def end(self, reason: str) -> None:
        """Tell all that no answer will come: the link is down. Idempotent."""
        ended, self._open = self._open, {}
        self._late.clear()
        for _, told in ended.values():
            told(Unanswered(reason))

    def next_deadline(self) -> float | None:
        """The time at which to call :meth:`expire`; ``None`` for never."""
        return min((deadline for deadline, _ in self._open.values()), default=None)


class Questions:
    """The open questions of the other end, by token."""

    __slots__ = ("_last", "_open")

    def __init__(self) -> None:
        self._last = 0
        self._open: set[int] = set()

    def __len__(self) -> int:
        """The number of those that are not answered."""
        return len(self._open)

    def take(self, payload: memoryview) -> tuple[int, memoryview]:
        """The token and the contents of a question that came. Raises :exc:`LinkError` for one that
        may not come."""
        token = _token(payload)
        question = payload[TOKEN.size :]
        if len(question) > ASK_BYTES_MAX:
            raise LinkError(f"a question of more than {ASK_BYTES_MAX} octets")
        if token <= self._last:
            raise LinkError(f"question {token} came after question {self._last}")
        if len(self._open) == OPEN_MAX:
            raise LinkError(f"more than {OPEN_MAX} questions are open")
        self._last = token
        self._open.add(token)
        return token, question

    def close(self, token: int) -> bytes:
        """End a question; the token to put in front of its answer. It must be open."""
        self._open.remove(token)
        return TOKEN.pack(token)


def _token(payload: memoryview) -> int:
    if len(payload) < TOKEN.size:
        raise LinkError("a question or an answer without a token")
    token: int = TOKEN.unpack_from(payload)[0]
    return token
