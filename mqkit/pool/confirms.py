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

from collections.abc import Iterable
from typing import Generic, TypeVar

from mqkit.errors import MqkitError
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason
from mqkit.pool.attribution import outcomes_at_close

Slot = TypeVar("Slot")


class _InFlight(Generic[Slot]):
    __slots__ = ("message", "returned", "slot")

    def __init__(self, message: Message, slot: Slot) -> None:
        self.message = message
        self.slot = slot
        self.returned: str | None = None


class ConfirmLedger(Generic[Slot]):
    """``slot`` is whatever the owner wants back with the outcome: a future, an index."""

    def __init__(self) -> None:
        self._in_flight: dict[int, _InFlight[Slot]] = {}
        self._lowest = 1
        self._next = 1
        self._last_returned = 0
        self.unexpected = 0
        """Answers of the broker that fitted no publish in flight."""

    def __len__(self) -> int:
        return len(self._in_flight)

    def record(self, message: Message, slot: Slot) -> int:
        """Note a publish that was written to the wire; returns its sequence number."""
        sequence = self._next
        self._next += 1
        self._in_flight[sequence] = _InFlight(message, slot)
        return sequence

    def ack(self, delivery_tag: int, *, multiple: bool = False) -> list[tuple[Slot, Outcome]]:
        """``basic.ack``. A publish that was returned before is ``Rejected(UNROUTABLE)``."""
        return [
            (entry.slot, _unroutable(entry) if entry.returned else _confirmed(entry))
            for entry in self._take(delivery_tag, multiple)
        ]

    def nack(self, delivery_tag: int, *, multiple: bool = False) -> list[tuple[Slot, Outcome]]:
        """``basic.nack``: not in every queue; some may hold the message."""
        return [
            (entry.slot, _unroutable(entry) if entry.returned else _nacked(entry))
            for entry in self._take(delivery_tag, multiple)
        ]

    def returned(self, message: Message, reply_code: int, reply_text: str) -> None:
        """``basic.return``: settles nothing by itself; the ack that follows does."""
        sequence = self._sequence_of(message)
        if sequence is None:
            self.unexpected += 1
            return
        self._last_returned = sequence
        self._in_flight[sequence].returned = f"{reply_code} {reply_text}"

    def close(self, error: MqkitError | None) -> list[tuple[Slot, Outcome]]:
        """The channel is gone: settle all that is left. ``error`` is why, ``None`` if by choice."""
        entries = list(self._in_flight.values())
        self._in_flight.clear()
        self._lowest = self._next
        in_doubt = [entry for entry in entries if not entry.returned]
        verdicts = iter(outcomes_at_close([entry.message for entry in in_doubt], error))
        return [
            (entry.slot, _unroutable(entry) if entry.returned else next(verdicts))
            for entry in entries
        ]

    def _take(self, delivery_tag: int, multiple: bool) -> list[_InFlight[Slot]]:
        if not multiple:
            entry = self._in_flight.pop(delivery_tag, None)
            if entry is None:
                self.unexpected += 1
                return []
            if delivery_tag == self._lowest:
                self._lowest += 1
            return [entry]
        # Tag 0 with `multiple` means all so far (AMQP 0-9-1, basic.ack, delivery-tag).
        highest = self._next - 1 if delivery_tag == 0 else delivery_tag
        if highest >= self._next:
            self.unexpected += 1
            highest = self._next - 1
        taken = [
            entry
            for sequence in range(self._lowest, highest + 1)
            if (entry := self._in_flight.pop(sequence, None)) is not None
        ]
        self._lowest = max(self._lowest, highest + 1)
        return taken

    def _sequence_of(self, message: Message) -> int | None:
        alike: int | None = None
        for sequence in self._return_candidates():
            entry = self._in_flight.get(sequence)
            if entry is None or entry.returned or not _same_message(entry.message, message):
                continue
            if entry.message.properties.headers == message.properties.headers:
                return sequence
            if alike is None:
                alike = sequence
        return alike

    def _return_candidates(self) -> Iterable[int]:
        after = max(self._last_returned + 1, self._lowest)
        yield from range(after, self._next)
        yield from range(self._lowest, after)


def _same_message(sent: Message, returned: Message) -> bool:
    return (
        sent.properties.message_id == returned.properties.message_id
        and sent.routing_key == returned.routing_key
        and sent.exchange == returned.exchange
        and sent.mandatory
        and sent.body == returned.body
    )


def _confirmed(entry: _InFlight[Slot]) -> Outcome:
    return Confirmed(entry.message.properties.message_id)


def _nacked(entry: _InFlight[Slot]) -> Outcome:
    return Rejected(
        RejectReason.NACKED,
        "the broker nacked it: it is not in every queue it was routed to",
        entry.message.properties.message_id,
    )


def _unroutable(entry: _InFlight[Slot]) -> Outcome:
    return Rejected(
        RejectReason.UNROUTABLE, entry.returned or "", entry.message.properties.message_id
    )
