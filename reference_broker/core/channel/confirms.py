"""The confirm ledger: the answers to clients that wait until the log is synced far enough, and
whatever else they wait for.

Law 3: basic.ack for a persistent message, and the -ok of a durable definition, leave only when
``journal.synced`` has reached the position that ``journal.tail`` had after the record. Law 4: there
is no second path. A confirm is one line per channel and read (its highest sequence number and the
position that covers it), never one per message.

    publish 41..57 on channel 1  ->  line (position 9000, channel 1 up to 57)
    synced(9000)                 ->  basic.ack(57, multiple)

Lines are kept in order of position. A line that would go before an earlier one waits for that one
too, so an answer may be late, by one sync, and never early.

A line that waits for watermarks beside the disk may be met before an earlier one of its channel,
and would confirm that one's publishes too. So from the first such line on a channel keeps its own
in order (:class:`_OrderedLine`), until none of them is open.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mqkit.wire import method_frame
from mqkit.wire.methods import BasicAck, BasicNack
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.journal.journal import Journal
from reference_broker.core.journal.watermark import Wait, Watermark

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel


class Promise(Protocol):
    """An answer that waits. Exactly one of the two methods is called, once."""

    def kept(self) -> None:
        """All that the promise waited for has come: answer the client."""

    def broken(self) -> None:
        """The disk failed: it will never be known to be on disk."""


class ChannelConfirms:
    """A channel's publish sequence, from confirm.select on.

    ``published`` is the number of the last publish; ``settled`` the number up to which everything
    was acked or nacked; ``position`` what must be synced for the channel's last durable publish,
    and ``marks`` what the publishes of the input that goes on wait for beside it. ``lines`` are
    those that have to be kept in order.
    """

    __slots__ = (
        "_channel", "_nacked", "_refused", "in_batch", "lines", "marks", "position", "published",
        "settled",
    )  # fmt: skip

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._nacked: list[int] = []
        self._refused = 0
        self.published = 0
        self.settled = 0
        self.position = 0
        self.marks: tuple[tuple[Watermark, int], ...] = ()
        self.lines: deque[_OrderedLine] | None = None
        self.in_batch = False

    @property
    def outstanding(self) -> int:
        """Publishes that were neither acked nor nacked."""
        return self.published - self.settled - len(self._nacked)

    @property
    def confirmed(self) -> int:
        """Publishes that were acked."""
        return self.published - self.outstanding - self._refused

    def refuse(self) -> None:
        """Nack the last publish, at once: not every queue took it. The bit ``requeue`` says nothing
        here, and is set as RabbitMQ sets it."""
        self.nack(self.published)

    def nack(self, sequence: int) -> None:
        """Nack one publish that waits, maybe before it is counted as published. Idempotent: the
        nodes that it goes to may refuse it one by one."""
        at = bisect_left(self._nacked, sequence)
        if sequence <= self.settled or sequence in self._nacked[at : at + 1]:
            return
        self._refused += 1
        self._nacked.insert(at, sequence)
        self._send(BasicNack(delivery_tag=sequence))

    def await_marks(self, marks: Iterable[tuple[Watermark, int]]) -> None:
        """The publishes of this input wait for these, too."""
        self.marks = tuple({**dict(self.marks), **dict(marks)}.items())

    def ack_through(self, sequence: int) -> None:
        """Ack everything up to ``sequence`` that was not nacked."""
        last = self._last_open(sequence)
        if last > self.settled:
            self._send(BasicAck(delivery_tag=last, multiple=last - self.settled > 1))
        self._settle(sequence)

    def nack_through(self, sequence: int) -> None:
        """Nack everything up to ``sequence`` that was not nacked before."""
        last = self._last_open(sequence)
        if last > self.settled:
            multiple = last - self.settled > 1
            alone = sum(self.settled < number <= sequence for number in self._nacked)
            self._refused += sequence - self.settled - alone
            self._send(BasicNack(delivery_tag=last, multiple=multiple))
        self._settle(sequence)

    def _last_open(self, sequence: int) -> int:
        """The highest number up to ``sequence`` that was not nacked on its own. A ``multiple`` up
        to it may cover nacked ones below, which the client has already crossed out."""
        index = len(self._nacked) - 1
        while index >= 0 and self._nacked[index] >= sequence:
            if self._nacked[index] == sequence:
                sequence -= 1
            index -= 1
        return sequence

    def _settle(self, sequence: int) -> None:
        self.settled = max(self.settled, sequence)
        if self._nacked:
            self._nacked = [number for number in self._nacked if number > self.settled]

    def _send(self, method: BasicAck | BasicNack) -> None:
        channel = self._channel
        if channel.state in (ChannelState.OPEN, ChannelState.SUSPENDED):
            channel.connection.write(method_frame(channel.number, method))


class _ConfirmLine(NamedTuple):
    """The promise to confirm a channel's publishes up to a number."""

    confirms: ChannelConfirms
    sequence: int

    def kept(self) -> None:
        self.confirms.ack_through(self.sequence)

    def broken(self) -> None:
        self.confirms.nack_through(self.sequence)


class _OrderedLine:
    """A line of a channel that is kept once it is met, and every earlier one of the channel."""

    __slots__ = ("_confirms", "_met", "_sequence")

    def __init__(self, confirms: ChannelConfirms, sequence: int) -> None:
        self._confirms = confirms
        self._sequence = sequence
        self._met = False
        if confirms.lines is None:
            confirms.lines = deque()
        confirms.lines.append(self)

    def kept(self) -> None:
        self._met = True
        confirms, lines = self._confirms, self._confirms.lines
        last = 0
        while lines and lines[0]._met:
            last = lines.popleft()._sequence
        if not lines:
            confirms.lines = None
        if last:
            confirms.ack_through(last)

    def broken(self) -> None:
        """Nack the line's publishes, and those before, which nobody is told of otherwise: none of
        them is lost by that, and each may come twice."""
        confirms, lines = self._confirms, self._confirms.lines
        while lines and lines[0]._sequence <= self._sequence:
            lines.popleft()
        if not lines:
            confirms.lines = None
        confirms.nack_through(self._sequence)


class _Pending:
    """A promise that waits for more than the disk: how many of its watermarks are still to come."""

    __slots__ = ("_ledger", "_open", "promise")

    def __init__(self, ledger: ConfirmLedger, promise: Promise, marks: int) -> None:
        self._ledger = ledger
        self._open = marks
        self.promise = promise

    def met(self) -> None:
        self._open -= 1
        if not self._open and self._ledger.forget(self):
            self.promise.kept()


class ConfirmLedger:
    """Promises in order of the log position that each waits for."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lines: deque[tuple[int, Promise]] = deque()
        self._pending: dict[_Pending, None] = {}
        self._disk = Watermark()
        """The position that the disk has reached, for those that wait for more."""
        self._batch: list[ChannelConfirms] = []
        self._failed = False

    def __len__(self) -> int:
        """The number of promises that wait."""
        return len(self._lines) + len(self._pending)

    def published(self, confirms: ChannelConfirms, tail_before: int) -> None:
        """Note that a channel has published since ``journal.tail`` was ``tail_before``. Nothing is
        answered until :meth:`close_batch`."""
        tail = self._journal.tail
        if tail != tail_before:
            confirms.position = tail
        if not confirms.in_batch:
            confirms.in_batch = True
            self._batch.append(confirms)

    def before_return(self, confirms: ChannelConfirms) -> None:
        """Ack the channel's publishes before the last one, which is about to be returned, where
        none of them waits: a client that takes events one by one, as RabbitMQ sends them
        when it isn't busy, knows by its place which message a return was for."""
        if (
            self._journal.tail <= self._journal.synced
            and not confirms.marks
            and confirms.lines is None
            and not self._failed
        ):
            confirms.ack_through(confirms.published - 1)

    def close_batch(self) -> None:
        """Write one line for each channel that published in the input that ends, or ack at once
        where all of it is on disk (or needs no disk)."""
        if not self._batch:
            return
        batch, self._batch = self._batch, []
        for confirms in batch:
            confirms.in_batch = False
            marks = confirms.marks
            if marks or confirms.lines is not None:
                confirms.marks = ()
                line = _OrderedLine(confirms, confirms.published)
                self.promise(confirms.position, line, marks)
            else:
                self.promise(confirms.position, _ConfirmLine(confirms, confirms.published))

    def promise(
        self, position: int, promise: Promise, marks: Iterable[tuple[Watermark, int]] = ()
    ) -> None:
        """Keep ``promise`` as soon as the log is synced up to ``position``, and each watermark of
        ``marks`` is at its number; maybe right now."""
        if self._failed:
            promise.broken()
        elif marks and (left := [each for each in marks if each[0].value < each[1]]):
            self._await_all(position, promise, left)
        elif position <= self._journal.synced:
            promise.kept()
        else:
            self._lines.append((position, promise))
            if position > self._journal.awaited:
                self._journal.awaited = position

    def _await_all(
        self, position: int, promise: Promise, marks: list[tuple[Watermark, int]]
    ) -> None:
        if position > self._journal.synced:
            marks.append((self._disk, position))
            if position > self._journal.awaited:
                self._journal.awaited = position
        pending = _Pending(self, promise, len(marks))
        self._pending[pending] = None
        for watermark, value in marks:
            watermark.when_at(value, pending.met)

    def forget(self, pending: _Pending) -> bool:
        """Take off the list what waits for nothing any more; false where it is off already."""
        if pending not in self._pending:
            return False
        del self._pending[pending]
        return True

    def is_over(self, wait: Wait) -> bool:
        """True when a promise that waits so would be kept at once, or broken."""
        if self._failed:
            return True
        open_marks = any(mark.value < value for mark, value in wait.marks)
        return wait.position <= self._journal.synced and not open_marks

    def reached(self, position: int) -> None:
        """Keep every promise that waited for no more than ``position``: the log is synced up to
        there."""
        lines = self._lines
        while lines and lines[0][0] <= position:
            lines.popleft()[1].kept()
        if len(self._disk):
            self._disk.rise(position)

    def nack_publishes(self) -> None:
        """Nack the publishes that wait: the disk is full. Other promises wait on."""
        waiting, self._lines = self._lines, deque()
        for position, promise in waiting:
            if isinstance(promise, (_ConfirmLine, _OrderedLine)):
                promise.broken()
            else:
                self._lines.append((position, promise))
        for pending in list(self._pending):
            if isinstance(pending.promise, _OrderedLine):
                self.forget(pending)
                pending.promise.broken()

    def fail(self) -> None:
        """Break every promise, and those still to be made: the disk failed. Nothing that was not
        synced before may be confirmed after this; the process is about to end."""
        self._failed = True
        while self._lines:
            self._lines.popleft()[1].broken()
        while self._pending:
            pending = next(iter(self._pending))
            self.forget(pending)
            pending.promise.broken()
