"""One call of ``publish`` or ``publish_batch`` of a synchronous app: its messages, and their
outcomes so far."""

from __future__ import annotations

from collections.abc import Sequence

from mqkit.message import Message
from mqkit.outcome import Outcome, Unknown
from mqkit.pool.job import blocked, too_large, unsettled
from mqkit.pool.terms import Terms
from mqkit.publishing.message_ids import identified
from mqkit.sync.attempt import Attempt


class Call:
    """For the thread that calls. ``until_s`` is its deadline, by ``time.monotonic``."""

    __slots__ = ("_outcomes", "_were_sent", "messages", "pending", "terms", "until_s")

    def __init__(
        self, messages: Sequence[Message], terms: Terms, until_s: float, octets_max: int
    ) -> None:
        self.messages = [
            message if message.properties.message_id is not None else identified(message)
            for message in messages
        ]
        self.terms = terms
        self.until_s = until_s
        self._outcomes: list[Outcome | None] = [
            None if len(message.body) <= octets_max else too_large(message, octets_max)
            for message in self.messages
        ]
        self._were_sent: set[int] = set()
        self.pending = [at for at, outcome in enumerate(self._outcomes) if outcome is None]
        """The positions of messages without an outcome, in order."""

    @property
    def waits_when_blocked(self) -> bool:
        """False if the call would rather fail than wait for a broker that blocks. What is in doubt
        always waits: it has been sent."""
        return not self.terms.fails_when_blocked or all(
            at in self._were_sent for at in self.pending
        )

    def refuse(self, reason: str) -> None:
        """The broker blocks, for this reason: the outcome of what was never sent."""
        for at in self.pending:
            if at not in self._were_sent:
                self._outcomes[at] = blocked(self.messages[at], reason)
        self.pending = [at for at in self.pending if at in self._were_sent]

    def take(self, positions: Sequence[int], attempt: Attempt) -> list[int]:
        """The attempt at the messages of ``positions`` is over. Returns the positions of those that
        are in doubt, and are to be sent once more: :attr:`pending` has them, too."""
        pending, doubtful = [], []
        for at, outcome in zip(positions, attempt.outcomes, strict=True):
            if outcome is None:  # time is over, or it was not this attempt's turn
                pending.append(at)
            elif isinstance(outcome, Unknown) and (self.terms.resend or not outcome.sent):
                pending.append(at)
                if outcome.sent:
                    doubtful.append(at)
            else:
                self._outcomes[at] = outcome
        self._were_sent.update(positions[at] for at in attempt.sent)
        tried = set(positions)
        self.pending = sorted([at for at in self.pending if at not in tried] + pending)
        return doubtful

    def outcomes(self, why_missing: str) -> list[Outcome]:
        """All of them, in order; a message without one is ``Unknown``, and ``why_missing`` says
        why."""
        return [
            unsettled(self.messages[at], at in self._were_sent, why_missing)
            if outcome is None
            else outcome
            for at, outcome in enumerate(self._outcomes)
        ]
