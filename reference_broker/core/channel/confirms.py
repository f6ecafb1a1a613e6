"""The confirm ledger: the answers to clients that wait until the log is synced far enough.

Law 3: basic.ack for a persistent message, and the -ok of a durable definition, leave only when
``journal.synced`` has reached the position that ``journal.tail`` had after the record. Law 4: there
is no second path. A confirm is one line per channel and read (its highest sequence number and the
position that covers it), never one per message.

    publish 41..57 on channel 1  ->  line (position 9000, channel 1 up to 57)
    synced(9000)                 ->  basic.ack(57, multiple)

Lines are kept in order of position. A line that would go before an earlier one waits for that one
too, so an answer may be late, by one sync, and never early.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mqkit.wire import method_frame
from mqkit.wire.methods import BasicAck, BasicNack
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.journal.journal import Journal

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel


class Promise(Protocol):
    """An answer that waits for the disk. Exactly one of the two methods is called, once."""

    def kept(self) -> None:
        """Everything up to the promise's position is on disk: answer the client."""

    def broken(self) -> None:
        """The disk failed: it will never be known to be on disk."""


class ChannelConfirms:
    """A channel's publish sequence, from confirm.select on.

    ``published`` is the number of the last publish; ``settled`` the number up to which everything
    was acked or nacked; ``position`` what must be synced for the channel's last durable publish.
    """

    __slots__ = ("_channel", "_nacked", "_refused", "in_batch", "position", "published", "settled")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._nacked: list[int] = []
        self._refused = 0
        self.published = 0
        self.settled = 0
        self.position = 0
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
        self._refused += 1
        self._nacked.append(self.published)
        self._send(BasicNack(delivery_tag=self.published))

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


class ConfirmLedger:
    """Promises in order of the log position that each waits for."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lines: deque[tuple[int, Promise]] = deque()
        self._batch: list[ChannelConfirms] = []
        self._failed = False

    def __len__(self) -> int:
        """The number of promises that wait."""
        return len(self._lines)

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
        nothing waits for the disk: a client that takes events one by one, as RabbitMQ sends them
        when it isn't busy, knows by its place which message a return was for."""
        if self._journal.tail <= self._journal.synced and not self._failed:
            confirms.ack_through(confirms.published - 1)

    def close_batch(self) -> None:
        """Write one line for each channel that published in the input that ends, or ack at once
        where all of it is on disk (or needs no disk)."""
        if not self._batch:
            return
        batch, self._batch = self._batch, []
        for confirms in batch:
            confirms.in_batch = False
            self.promise(confirms.position, _ConfirmLine(confirms, confirms.published))

    def promise(self, position: int, promise: Promise) -> None:
        """Keep ``promise`` as soon as the log is synced up to ``position``; maybe right now."""
        if self._failed:
            promise.broken()
        elif position <= self._journal.synced:
            promise.kept()
        else:
            self._lines.append((position, promise))
            if position > self._journal.awaited:
                self._journal.awaited = position

    def reached(self, position: int) -> None:
        """Keep every promise that waited for no more than ``position``: the log is synced up to
        there."""
        lines = self._lines
        while lines and lines[0][0] <= position:
            lines.popleft()[1].kept()

    def nack_publishes(self) -> None:
        """Nack the publishes that wait: the disk is full. Other promises wait on."""
        waiting, self._lines = self._lines, deque()
        for position, promise in waiting:
            if isinstance(promise, _ConfirmLine):
                promise.broken()
            else:
                self._lines.append((position, promise))

    def fail(self) -> None:
        """Break every promise, and those still to be made: the disk failed. Nothing that was not
        synced before may be confirmed after this; the process is about to end."""
        self._failed = True
        while self._lines:
            self._lines.popleft()[1].broken()
