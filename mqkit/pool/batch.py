"""One call of ``publish_batch``: its messages, and their outcomes so far."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import cast

from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.pool.job import blocked, unsettled
from mqkit.pool.terms import Terms


class BatchRun:
    """Messages of a batch that follow each other: a :class:`mqkit.pool.job.Job`."""

    __slots__ = ("_batch", "_start", "alone", "count", "done", "octets")

    def __init__(self, batch: Batch, start: int, stop: int, octets: int) -> None:
        self._batch = batch
        self._start = start
        self.count = stop - start
        self.octets = octets
        """The size of the bodies together."""
        self.done = batch.done
        self.alone = False

    @property
    def terms(self) -> Terms:
        """The terms of the call."""
        return self._batch.terms

    def to_write(self) -> Sequence[Message]:
        """The messages, which count as sent now."""
        stop = self._start + self.count
        self._batch.sent = max(self._batch.sent, stop)
        return self._batch.messages[self._start : stop]

    def part(self, start: int, stop: int) -> BatchRun:
        """The messages from ``start`` up to, without, ``stop``."""
        start, stop = self._start + start, self._start + stop
        return BatchRun(self._batch, start, stop, sum(self._batch.body_octets[start:stop]))

    def settle(self, position: int, outcomes: Sequence[Outcome]) -> None:
        """The final outcomes of the messages from ``position`` on."""
        self._batch.settle(self._start + position, outcomes)

    def refuse(self, reason: str) -> None:
        """The broker blocks, for this reason, and the messages were not written."""
        messages = self._batch.messages[self._start : self._start + self.count]
        self.settle(0, [blocked(message, reason) for message in messages])

    def fail(self, error: BaseException) -> None:
        """The call as a whole ends with an error: the caller's mistake, not the broker's answer."""
        self._batch.fail(error)


class Batch:
    """Keeps one outcome for each message, and knows when it has all."""

    __slots__ = ("_outcomes", "body_octets", "done", "messages", "missing", "sent", "terms")

    def __init__(self, messages: Sequence[Message], terms: Terms) -> None:
        self.terms = terms
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.messages = messages
        self.body_octets = [len(message.body) for message in messages]
        self._outcomes: list[Outcome | None] = [None] * len(messages)
        self.missing = len(messages)
        """The number of messages without an outcome."""
        self.sent = 0
        """The messages before this one were written once or more: their first time is in order."""
        if not messages:
            self.done.set_result(None)

    def larger_than(self, octets: int) -> list[int]:
        """The positions of messages with such bodies."""
        sizes = self.body_octets
        if not sizes or max(sizes) <= octets:
            return []
        return [position for position, size in enumerate(sizes) if size > octets]

    def runs(self, octets_max: int) -> list[BatchRun]:
        """The messages without an outcome, in runs: with the last one of a run left out, bodies of
        less than so many octets in each."""
        if self.missing == len(self.messages) and (octets := sum(self.body_octets)) < octets_max:
            return [BatchRun(self, 0, self.missing, octets)] if self.missing else []
        return [BatchRun(self, *bounds) for bounds in self._bounds(octets_max)]

    def _bounds(self, octets_max: int) -> Iterator[tuple[int, int, int]]:
        """The start of each run, the end (exclusive), and its octets."""
        start, octets = 0, 0
        for position, outcome in enumerate(self._outcomes):
            if outcome is not None or octets >= octets_max:
                if start < position:
                    yield start, position, octets
                start, octets = position, 0
            if outcome is None:
                octets += self.body_octets[position]
            else:
                start = position + 1
        if start < len(self.messages):
            yield start, len(self.messages), octets

    def settle(self, position: int, outcomes: Sequence[Outcome]) -> None:
        """The final outcomes of the messages from ``position`` on: once for each message."""
        self._outcomes[position : position + len(outcomes)] = outcomes
        self.missing -= len(outcomes)
        if not self.missing:
            self.expire()

    def fail(self, error: BaseException) -> None:
        """The call as a whole ends with an error."""
        if not self.done.done():
            self.done.set_exception(error)

    def expire(self) -> None:
        """The call ends with what has come so far: it is all there, or time is over."""
        if not self.done.done():
            self.done.set_result(None)

    def abandon(self) -> None:
        """The caller is gone: nothing of this needs to be published any more. Idempotent."""
        if not self.done.cancel() and not self.done.cancelled():
            self.done.exception()  # it has been raised, or came too late for anybody to see it

    def outcomes(self, why_missing: str) -> list[Outcome]:
        """All outcomes, in order; a message without one is ``Unknown``, and ``why_missing`` says
        why."""
        if not self.missing:
            return cast("list[Outcome]", self._outcomes)
        return [
            outcome
            if outcome is not None
            else unsettled(message, position < self.sent, why_missing)
            for position, (message, outcome) in enumerate(
                zip(self.messages, self._outcomes, strict=True)
            )
        ]
