"""One call of ``publish`` or ``publish_batch``: its messages, and what has come of each so far."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mqkit.message import Message
from mqkit.outcome import Outcome, Unknown


class Job:
    """One message of a batch, on its way through a lane."""

    __slots__ = ("alone", "batch", "index", "message", "writes")

    def __init__(self, batch: Batch, index: int, message: Message) -> None:
        self.batch = batch
        self.index = index
        self.message = message
        self.writes = 0
        """How many times it was handed to a channel."""
        self.alone = False
        """To be written with nothing else in flight: the broker may close the channel for it."""


class Batch:
    """Settles each message once; what comes after the caller has its answer changes nothing."""

    __slots__ = ("_missing", "_outcomes", "done", "jobs")

    def __init__(self, messages: Sequence[Message]) -> None:
        self.jobs = [Job(self, index, message) for index, message in enumerate(messages)]
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._outcomes: list[Outcome | None] = [None] * len(messages)
        self._missing = len(messages)
        if not messages:
            self.done.set_result(None)

    @property
    def is_over(self) -> bool:
        """The caller waits no more."""
        return self.done.done()

    def settle(self, index: int, outcome: Outcome) -> None:
        """The final outcome of one message."""
        if self._outcomes[index] is not None:
            return
        self._outcomes[index] = outcome
        self._missing -= 1
        if self._missing == 0 and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: BaseException) -> None:
        """The call as a whole ends with an error: the caller's mistake, not the broker's answer."""
        if not self.done.done():
            self.done.set_exception(error)

    def abandon(self) -> None:
        """The caller is gone: nothing of this needs to be published any more. Idempotent."""
        if not self.done.cancel() and not self.done.cancelled():
            self.done.exception()  # it has been raised, or came too late for anybody to see it

    def outcomes(self, why_missing: str) -> list[Outcome]:
        """All of them, in order; what is not settled by now is ``Unknown``, and says why."""
        return [
            outcome if outcome is not None else _unsettled(job, why_missing)
            for job, outcome in zip(self.jobs, self._outcomes, strict=True)
        ]


def _unsettled(job: Job, why: str) -> Outcome:
    fate = "was sent, but not confirmed" if job.writes else "was never sent"
    return Unknown(f"the message {fate} {why}", job.message.properties.message_id)
