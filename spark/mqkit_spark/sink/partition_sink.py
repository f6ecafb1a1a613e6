"""Publishes the messages of one partition, and returns only when each has its outcome.

Confirms are pipelined: thousands of messages are in flight, and outcomes are looked at as they
come, those of a run at once. What the broker nacked, and what a lost connection left in doubt, is
sent once more under the same id, ``publishRetries`` times at most; the last time, what is in doubt
is sent one by one, for the broker may have closed the channel for one of them and does not say for
which. What no queue takes is dropped or dead-lettered where an option says so; a dead letter has to
be confirmed as any message. Everything else ends the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeAlias

from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit_spark.options import OnUnroutable, SinkOptions
from mqkit_spark.sink.dead_letters import dead_letter
from mqkit_spark.sink.link import Borrow, Link, retry_pause_s
from mqkit_spark.sink.outgoing import Outgoing, Run
from mqkit_spark.sink.pace import Pace, SystemWaiting, Waiting
from mqkit_spark.sink.patience import Patience
from mqkit_spark.sink.report import PublishFailed

CHUNK_MESSAGES = 2_000
"""Messages handed to the transport at a time; between two such calls, finished outcomes are taken
off."""

POLL_INTERVAL_S = 0.25
"""Seconds between two looks of a wait at its deadline."""


@dataclass(slots=True)
class Counts:
    """The counts of a sink so far."""

    confirmed: int = 0
    unroutable: int = 0
    dead_lettered: int = 0
    resent: int = 0
    body_bytes: int = 0
    blocked_seconds: float = 0.0


Settled: TypeAlias = tuple[Run, int, Sequence[Outcome]]
"""A run, the position of the first message that is settled, and the outcomes from there on."""


class PartitionSink:
    """A context manager. No connection is opened before the first message.

    :meth:`send` messages, then :meth:`finish`; without that nothing is known of the last ones.
    They raise :exc:`~mqkit_spark.sink.report.PublishFailed`, or what connecting raises; the
    connection is closed then, with whatever is in flight. ``partition`` is for dead letters.
    """

    def __init__(
        self,
        options: SinkOptions,
        borrow: Borrow,
        waiting: Waiting | None = None,
        *,
        partition: int = 0,
    ) -> None:
        self.counts = Counts()
        self._options = options
        self._partition = partition
        self._waiting = waiting or SystemWaiting()
        self._pace = Pace(options.max_rate, self._waiting)
        self._chunk = min(CHUNK_MESSAGES, self._pace.burst or CHUNK_MESSAGES)
        self._link = Link(options, borrow, self._waiting.pause)
        self._patience = Patience(options, self._waiting.monotonic_s, lambda: self._link.blocked_s)
        self._in_flight = 0
        self._settled: SimpleQueue[Settled] = SimpleQueue()
        """Filled by the transport's thread."""
        self._again: list[Outgoing] = []
        self._dead: list[Outgoing] = []

    def __enter__(self) -> PartitionSink:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            self._link.abort()
        self._disconnect()

    def send(self, messages: Sequence[Message], rows: Sequence[int]) -> None:
        """Publish the messages of these rows; waits only while too much is in flight, and for
        ``maxRate``."""
        for start in range(0, len(messages), self._chunk):
            end = start + self._chunk
            self._send_chunk(messages[start:end], rows[start:end])
            if len(self._again) >= self._options.max_in_flight:
                self._send_again()
        if len(self._dead) >= CHUNK_MESSAGES:
            self._send_dead_letters()

    def bury(self, message: Message, row: int, why: str) -> None:
        """Publish a dead letter of ``message``."""
        letter = dead_letter(
            message, why=why, partition=self._partition, row=row, options=self._options
        )
        self._dead.append(Outgoing(letter, row, is_dead_letter=True))

    def finish(self) -> None:
        """Wait until every message has its outcome."""
        self._settle_all()
        while self._again or self._dead:
            self._send_dead_letters()
            if self._again:
                self._send_again()
            self._settle_all()
        self._disconnect()

    def _send_chunk(
        self,
        messages: Sequence[Message],
        rows: Sequence[int],
        attempt: int = 0,
        *,
        is_dead_letter: bool = False,
    ) -> None:
        self._pace.wait(len(messages))
        channel = self._link.channel()
        patience_s = self._options.confirm_timeout_s + self._options.blocked_timeout_s
        run = Run(messages, rows, is_dead_letter, attempt, channel)
        self._in_flight += len(messages)
        channel.publish_run(messages, partial(self._note, run), timeout_s=patience_s)
        while not self._settled.empty():
            self._settle(*self._settled.get())

    def _note(self, run: Run, position: int, outcomes: Sequence[Outcome]) -> None:
        """On any thread."""
        self._settled.put((run, position, outcomes))

    def _send_dead_letters(self) -> None:
        dead, self._dead = self._dead, []
        self._send_all(dead, attempt=0)

    def _send_again(self) -> None:
        self._end_if_tired()
        again, self._again = self._again, []
        attempt = max(each.attempt for each in again)
        self._waiting.pause(retry_pause_s(attempt))
        self.counts.resent += len(again)
        if attempt == self._options.publish_retries:
            for each in [each for each in again if each.is_in_doubt]:
                self._send_all([each], attempt)
                self._settle_all()
                self._end_if_tired()
            again = [each for each in again if not each.is_in_doubt]
        self._send_all([each for each in again if not each.is_dead_letter], attempt)
        self._send_all([each for each in again if each.is_dead_letter], attempt)

    def _end_if_tired(self) -> None:
        retries = self._options.publish_retries
        tired = next((each for each in self._again if each.attempt > retries), None)
        if tired is None:
            return
        name = tired.name
        if tired.is_in_doubt and retries == 0 and len(self._again) > 1:
            name = f"{name}, or another of {len(self._again)} in flight,"
        raise PublishFailed(f"{name} was sent {tired.attempt} times in vain: {tired.why}")

    def _send_all(self, outgoing: Sequence[Outgoing], attempt: int) -> None:
        """All of one kind."""
        for start in range(0, len(outgoing), self._chunk):
            chunk = outgoing[start : start + self._chunk]
            self._send_chunk(
                [each.message for each in chunk],
                [each.row for each in chunk],
                attempt,
                is_dead_letter=chunk[0].is_dead_letter,
            )

    def _settle_all(self) -> None:
        self._patience.note_progress()
        while self._in_flight:
            try:
                settled = self._settled.get(timeout=POLL_INTERVAL_S)
            except Empty:
                if self._patience.is_out():
                    raise PublishFailed(self._patience.words(self._in_flight)) from None
            else:
                self._settle(*settled)
                self._patience.note_progress()

    def _settle(self, run: Run, position: int, outcomes: Sequence[Outcome]) -> None:
        self._in_flight -= len(outcomes)
        if run.is_dead_letter or not all(outcomes):
            for place, outcome in enumerate(outcomes, start=position):
                self._settle_one(run, place, outcome)
            return
        messages = run.messages[position : position + len(outcomes)]
        self.counts.confirmed += len(messages)
        self.counts.body_bytes += sum([len(message.body) for message in messages])

    def _settle_one(self, run: Run, position: int, outcome: Outcome) -> None:
        message = run.messages[position]
        match outcome:
            case Confirmed() if run.is_dead_letter:
                self.counts.dead_lettered += 1
            case Confirmed():
                self.counts.confirmed += 1
                self.counts.body_bytes += len(message.body)
            case Rejected(reason=RejectReason.UNROUTABLE) as no:
                self._unroutable(run, position, no.detail)
            case Rejected(reason=RejectReason.NACKED) as no:
                self._again.append(run.again(position, no.detail))
            case Rejected() as no:
                raise PublishFailed(f"{run.name(position)}: {no.reason.value}: {no.detail}")
            case Unknown() if run.channel.is_open:
                raise PublishFailed(self._patience.words(self._in_flight))
            case Unknown() as lost:
                self._again.append(run.again(position, lost.detail, is_in_doubt=True))

    def _unroutable(self, run: Run, position: int, detail: str) -> None:
        message, policy = run.messages[position], self._options.on_unroutable
        why = (
            f"no queue is bound to exchange {message.exchange!r} for routing key"
            f" {message.routing_key!r} ({detail})"
        )
        if run.is_dead_letter:
            raise PublishFailed(
                f"{run.name(position)} is unroutable: {why}; bind a queue to deadLetterExchange"
            )
        if policy is OnUnroutable.FAIL:
            raise PublishFailed(
                f"{run.name(position)} is unroutable: {why}; bind one, or set onUnroutable to"
                " drop or deadletter"
            )
        self.counts.unroutable += 1
        if policy is OnUnroutable.DEADLETTER:
            self.bury(message, run.rows[position], f"unroutable: {why}")

    def _disconnect(self) -> None:
        self._link.close()
        self.counts.blocked_seconds = self._link.blocked_s
