"""The confirm ledger of one channel: what was published, and what the broker has said of it.

Law: every recorded publish is settled exactly once, by the first answer that covers it; whatever
else the broker says of it is counted and changes nothing. The ledger does no I/O: it returns what
is settled, and its owner wakes whoever waits.

Sequence numbers count from 1 at ``confirm.select``, one per ``basic.publish`` in the order of the
wire (https://www.rabbitmq.com/docs/confirms). A ``basic.return`` carries none; it comes before
the ack of the same publish, and returns come in the order of the publishes. So a return belongs to
the first unanswered publish after the last returned one that has its exchange, key, message id and
body; headers break a tie. Where two are the same in all of these, it does not matter which one it
was: mqkit adds nothing to a message to tell them apart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Generic, TypeAlias, TypeVar

from mqkit.drafts import new_confirmed
from mqkit.errors import MqkitError
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason
from mqkit.pool.attribution import outcomes_at_close

Owner = TypeVar("Owner")


Settled: TypeAlias = tuple[Owner, int, Sequence[Outcome]]
"""Outcomes of publishes that follow each other: their owner, the position of the first, and they.
"""


class _Run(Generic[Owner]):
    """Publishes in flight that follow each other: those from ``lowest`` up to, without, ``end``."""

    __slots__ = ("confirmed", "end", "first", "lowest", "messages", "owner", "position")

    def __init__(
        self,
        first: int,
        messages: Sequence[Message],
        confirmed: Sequence[Confirmed],
        owner: Owner,
        position: int,
    ) -> None:
        self.first = self.lowest = first
        """The sequence number of ``messages[0]``, in flight still or not."""
        self.end = first + len(messages)
        self.messages = messages
        self.confirmed = confirmed
        """The outcome of each message if the broker acks it."""
        self.owner = owner
        self.position = position
        """The owner's position of ``messages[0]``."""

    def behind(self, sequence: int) -> _Run[Owner]:
        """The publishes in flight after ``sequence``, as a run of its own."""
        rest = _Run(self.first, self.messages, self.confirmed, self.owner, self.position)
        rest.lowest, rest.end = sequence + 1, self.end
        return rest

    def sent(self, lowest: int, end: int) -> Iterator[tuple[int, Message]]:
        """Each sequence number from ``lowest`` up to, without, ``end``, with its message."""
        first, messages = self.first, self.messages
        for sequence in range(lowest, end):
            yield sequence, messages[sequence - first]

    def settled(self, lowest: int, outcomes: Sequence[Outcome]) -> Settled[Owner]:
        """The publishes from ``lowest`` on came to these."""
        return self.owner, self.position + lowest - self.first, outcomes


_Part: TypeAlias = tuple[_Run[Owner], int, int]
"""Publishes that one answer covered: their run, the lowest sequence number, and the end
(exclusive)."""

_lowest_of = attrgetter("lowest")


class ConfirmLedger(Generic[Owner]):
    """``owner`` is whatever its owner wants back with the outcomes: a future, a callback.

    What was written together is one entry, a run; answers split it where they have to.
    """

    def __init__(self) -> None:
        self._runs: deque[_Run[Owner]] = deque()
        """In the order of their sequence numbers, none empty."""
        self._in_flight = 0
        self._returns: dict[int, str] = {}
        """Reply code and text of publishes that were returned and are still in flight, by sequence
        number."""
        self._next = 1
        self._last_returned = 0
        self.unexpected = 0
        """Answers of the broker that fitted no publish in flight."""

    def __len__(self) -> int:
        return self._in_flight

    def record(self, messages: Sequence[Message], owner: Owner, position: int = 0) -> int:
        """Note publishes, one or more, that were written to the wire in this order; returns the
        first one's sequence number. The owner gets outcomes back by position: the first message's
        is ``position``. ``messages`` must not change any more.
        """
        first, count = self._next, len(messages)
        # Their outcomes are made now, while the broker is at work. When it answers, callers wait.
        self._runs.append(_Run(first, messages, new_confirmed(messages), owner, position))
        self._next += count
        self._in_flight += count
        return first

    def ack(self, delivery_tag: int, *, multiple: bool = False) -> list[Settled[Owner]]:
        """``basic.ack``. A publish that was returned before is ``Rejected(UNROUTABLE)``."""
        runs = self._runs
        if runs and not multiple and not self._returns:
            run = runs[0]
            if run.lowest == delivery_tag and run.end == delivery_tag + 1:
                # All of the oldest run, as with one message in flight: on the way of a lone
                # publisher each call counts.
                runs.popleft()
                self._in_flight -= 1
                at = delivery_tag - run.first
                return [(run.owner, run.position + at, run.confirmed[at : at + 1])]
        return [
            run.settled(lowest, self._acked(run, lowest, end))
            for run, lowest, end in self._take(delivery_tag, multiple)
        ]

    def nack(self, delivery_tag: int, *, multiple: bool = False) -> list[Settled[Owner]]:
        """``basic.nack``: not in every queue; some may hold the message."""
        return [
            run.settled(
                lowest,
                [
                    self._as_returned(sequence, message, _nacked(message))
                    for sequence, message in run.sent(lowest, end)
                ],
            )
            for run, lowest, end in self._take(delivery_tag, multiple)
        ]

    def returned(self, message: Message, reply_code: int, reply_text: str) -> None:
        """``basic.return``: settles nothing by itself; the ack that follows does."""
        sequence = self._sequence_of(message)
        if sequence is None:
            self.unexpected += 1
            return
        self._last_returned = sequence
        self._returns[sequence] = f"{reply_code} {reply_text}"

    def close(self, error: MqkitError | None) -> list[Settled[Owner]]:
        """The channel is gone: settle all that is left. ``error`` is why, ``None`` if by choice."""
        parts = self._take_up_to(self._next - 1)
        returns, self._returns = self._returns, {}
        in_doubt = [
            message
            for run, lowest, end in parts
            for sequence, message in run.sent(lowest, end)
            if sequence not in returns
        ]
        verdicts = iter(outcomes_at_close(in_doubt, error))
        return [
            run.settled(
                lowest,
                [
                    _unroutable(returns[sequence], message)
                    if sequence in returns
                    else next(verdicts)
                    for sequence, message in run.sent(lowest, end)
                ],
            )
            for run, lowest, end in parts
        ]

    def _take(self, delivery_tag: int, multiple: bool) -> list[_Part[Owner]]:
        if not multiple:
            return self._take_one(delivery_tag)
        # Tag 0 with `multiple` means all so far (AMQP 0-9-1, basic.ack, delivery-tag).
        highest = self._next - 1 if delivery_tag == 0 else delivery_tag
        if highest >= self._next:
            self.unexpected += 1
        return self._take_up_to(highest)

    def _take_one(self, sequence: int) -> list[_Part[Owner]]:
        runs = self._runs
        at = 0 if runs and runs[0].lowest <= sequence < runs[0].end else self._run_at(sequence)
        if at < 0 or sequence >= runs[at].end:
            self.unexpected += 1
            return []
        run = runs[at]
        if run.lowest + 1 == run.end:
            del runs[at]
        elif sequence == run.lowest:
            run.lowest += 1
        else:
            if sequence + 1 < run.end:
                runs.insert(at + 1, run.behind(sequence))
            run.end = sequence
        self._in_flight -= 1
        return [(run, sequence, sequence + 1)]

    def _take_up_to(self, highest: int) -> list[_Part[Owner]]:
        runs, parts = self._runs, []
        while runs and (run := runs[0]).lowest <= highest:
            lowest, end = run.lowest, run.end
            if end > highest + 1:
                run.lowest = end = highest + 1
            else:
                runs.popleft()
            self._in_flight -= end - lowest
            parts.append((run, lowest, end))
        return parts

    def _run_at(self, sequence: int) -> int:
        """The index of the run that may hold ``sequence``; -1 if ``sequence`` comes before all
        runs."""
        return bisect_right(self._runs, sequence, key=_lowest_of) - 1

    def _sequence_of(self, message: Message) -> int | None:
        alike: int | None = None
        for sequence, sent in self._return_candidates():
            if sequence in self._returns or not _same_message(sent, message):
                continue
            if sent.properties.headers == message.properties.headers:
                return sequence
            if alike is None:
                alike = sequence
        return alike

    def _acked(self, run: _Run[Owner], lowest: int, end: int) -> Sequence[Outcome]:
        confirmed = run.confirmed[lowest - run.first : end - run.first]
        if not self._returns:
            return confirmed
        return [
            self._as_returned(sequence, message, outcome)
            for (sequence, message), outcome in zip(run.sent(lowest, end), confirmed, strict=True)
        ]

    def _as_returned(self, sequence: int, message: Message, otherwise: Outcome) -> Outcome:
        """``otherwise``, or unroutable if the broker had returned the message before."""
        text = self._returns.pop(sequence, None)
        return otherwise if text is None else _unroutable(text, message)

    def _return_candidates(self) -> Iterator[tuple[int, Message]]:
        """The publishes in flight: first those after the last that was returned."""
        after, end = self._last_returned + 1, self._next
        yield from self._between(after, end)
        yield from self._between(1, after)

    def _between(self, lowest: int, end: int) -> Iterator[tuple[int, Message]]:
        for run in islice(self._runs, max(self._run_at(lowest), 0), None):
            if run.lowest >= end:
                break
            yield from run.sent(max(run.lowest, lowest), min(run.end, end))


def _same_message(sent: Message, returned: Message) -> bool:
    return (
        sent.properties.message_id == returned.properties.message_id
        and sent.routing_key == returned.routing_key
        and sent.exchange == returned.exchange
        and sent.mandatory
        and sent.body == returned.body
    )


def _unroutable(text: str, message: Message) -> Outcome:
    return Rejected(RejectReason.UNROUTABLE, text, message.properties.message_id)


def _nacked(message: Message) -> Outcome:
    return Rejected(
        RejectReason.NACKED,
        "the broker nacked it: it is not in every queue it was routed to",
        message.properties.message_id,
    )
