"""One call of ``publish``: its message, and the future of its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.pool.job import blocked
from mqkit.pool.terms import Terms


class Single:
    """A :class:`mqkit.pool.job.Job` and the call that it belongs to, in one."""

    __slots__ = ("alone", "done", "message", "terms", "written")

    count = 1

    def __init__(
        self, message: Message, done: asyncio.Future[Outcome | None], terms: Terms
    ) -> None:
        self.message = message
        self.done = done
        """``None`` when the time is over."""
        self.terms = terms
        self.written = False
        self.alone = False

    @property
    def octets(self) -> int:
        """The size of the body."""
        return len(self.message.body)

    def to_write(self) -> Sequence[Message]:
        """The message, which counts as sent now."""
        self.written = True
        return (self.message,)

    def part(self, start: int, stop: int) -> Single:
        """The job itself: one message has no parts."""
        return self

    def settle(self, position: int, outcomes: Sequence[Outcome]) -> None:
        """The final outcome; what comes after the caller has its answer changes nothing."""
        if not self.done.done():
            self.done.set_result(outcomes[0])

    def refuse(self, reason: str) -> None:
        """The broker blocks, for this reason, and the message was not written."""
        self.settle(0, (blocked(self.message, reason),))

    def fail(self, error: BaseException) -> None:
        """The call ends with an error: the caller's mistake, not the broker's answer."""
        if not self.done.done():
            self.done.set_exception(error)

    def expire(self) -> None:
        """Time is over."""
        if not self.done.done():
            self.done.set_result(None)
