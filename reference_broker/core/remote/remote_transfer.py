"""Moving ready messages to a queue of another node because somebody asked for it.

The law: a message stays in its queue, as taken, until the other home has it; then it is gone from
here. What is refused, or lost on its way, is put back at its place as if nobody had seen it, and
ends the transfer: so it may be in both queues after a crash or a lost link, and is never lost. It
arrives as with :mod:`~reference_broker.core.queue.transfer`, in the same order; only the mark of a
message that is in doubt has no way over a link.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from reference_broker.core.arguments.queue_arguments import Overflow
from reference_broker.core.base.limits import MIB
from reference_broker.core.queue.returns import put_back_unseen
from reference_broker.core.queue.transfer import Stop
from reference_broker.core.remote.handover import Outcome, hand_over
from reference_broker.core.remote.ports import QueueGone
from reference_broker.core.work.budget import DEAD_LETTER_UNITS
from reference_broker.core.work.until import NotYet, Until
from reference_broker.errors import ChannelException

if TYPE_CHECKING:
    from reference_broker.core.arguments.queue_arguments import QueueArguments
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.remote.remote_queue import RemoteQueue
    from reference_broker.core.work.task import Steps

UNDER_WAY_MESSAGES = 50
UNDER_WAY_BYTES = MIB
"""Messages and bytes of one transfer that are on their way at a time (and the message that goes
over it)."""

DURATION_S = 20.0
"""Seconds after which a transfer sends no more; whoever asked asks again."""


def keeps_what_it_has(limits: QueueArguments) -> bool:
    """False for a queue of another node that may drop or dead-letter something for the sake of a
    message that comes: it does so by its bytes, which only its home knows."""
    return limits.max_length_bytes is None or limits.overflow is Overflow.REJECT_PUBLISH


class RemoteTransfer:
    """Moves up to ``count`` messages from the head of ``source`` to the end of ``destination``, a
    queue of the same virtual host that :func:`keeps_what_it_has`. ``moved`` says how far it is, and
    ``stop`` why no more are sent.

    A destination that has a length limit gets no more than it has room for. Where it may refuse
    one, each waits for the one before: otherwise a later one could get in.
    """

    def __init__(self, source: Queue, destination: RemoteQueue, count: int, bytes_max: int) -> None:
        self._source = source
        self._destination = destination
        self._era = destination.home.era
        self._until_s = source.env.moment.mono_s + DURATION_S
        self._left = count
        self._bytes_left = bytes_max
        self._room = 0
        """Messages for which a destination with a length limit has said that it has room."""
        self._under_way = 0
        self._under_way_bytes = 0
        self._answers: deque[tuple[Lease, Outcome]] = deque()
        self._answered = Until()
        self._returning: list[Lease] = []
        self._is_given_up = False
        self.moved = 0
        self.stop: Stop | None = None

    def give_up(self) -> None:
        """Send no more: nobody waits for it. :meth:`steps` still settle what is on its way."""
        self._is_given_up = True

    def steps(self) -> Steps:
        """The steps of the transfer. When they have ended, nothing of it is leased."""
        while self._may_send():
            yield from self._send_one()
            self._settle_answered()
        while self._under_way:
            if not self._answers:
                yield self._answered
            self._settle_answered()
        source, returning = self._source, self._returning
        while returning and source.purging is not None:
            yield source.purging  # they were not ready when it was asked
        put_back_unseen(source, returning)

    # Sending

    def _may_send(self) -> bool:
        home = self._destination.home
        if self.stop is None:
            if self._source.deleted or self._destination.deleted:
                self.stop = Stop.GONE
            elif self._left == 0 or self._bytes_left <= 0 or self._is_over():
                self.stop = Stop.COUNT
            elif not home.is_up or home.era != self._era:
                self.stop = Stop.DOWN
        return self.stop is None

    def _is_over(self) -> bool:
        return self._is_given_up or self._source.env.moment.mono_s >= self._until_s

    def _send_one(self) -> Steps:
        """Send the head, or wait for whatever that has to wait for."""
        home, limits = self._destination.home, self._destination.limits
        is_limited = limits.max_length is not None or limits.max_length_bytes is not None
        refuses = is_limited and limits.overflow is not Overflow.DROP_HEAD
        asks = limits.max_length is not None and limits.overflow is not Overflow.REJECT_PUBLISH
        if self._source.env.budget.left <= 0:
            yield None
        elif self._under_way and (refuses or self._is_enough() or (asks and not self._room)):
            yield self._answered
        elif not home.has_room:
            yield home.room_comes()
        elif asks and not self._room:
            yield from self._ask_for_room()
        else:
            until = self._send_head()
            if until is not None:
                yield until

    def _is_enough(self) -> bool:
        """As much is on its way as may be."""
        return self._under_way >= UNDER_WAY_MESSAGES or self._under_way_bytes >= UNDER_WAY_BYTES

    def _ask_for_room(self) -> Steps:
        try:
            counts = yield from self._destination.count()
        except QueueGone:
            self.stop = Stop.GONE
        except ChannelException:
            self.stop = Stop.DOWN
        else:
            self._room = max(0, (self._destination.limits.max_length or 0) - counts.ready)
            if not self._room:
                self.stop = Stop.FULL

    def _send_head(self) -> Until | None:
        """Send the head; or return what to wait for, as when it has to be read first."""
        source = self._source
        try:
            lease = source.get(self)
        except NotYet as wait:
            return wait.until
        if lease is None:
            if not source.ready:
                self.stop = Stop.EMPTY
                return None
            read = Until()
            source.backlog.await_head(read.happened)
            return read
        size = lease.content.size
        source.env.budget.left -= DEAD_LETTER_UNITS
        self._left -= 1
        self._bytes_left -= size
        self._room = max(0, self._room - 1)
        self._under_way += 1
        self._under_way_bytes += size
        destination = self._destination
        hand_over(destination.home, (destination.id,), lease.content, partial(self._told, lease))
        return None

    # Settling

    def _told(self, lease: Lease, outcome: Outcome) -> None:
        self._answers.append((lease, outcome))
        self._answered.happened()

    def _settle_answered(self) -> None:
        while self._answers:
            lease, outcome = self._answers.popleft()
            self._under_way -= 1
            self._under_way_bytes -= lease.content.size
            if outcome is Outcome.TAKEN and not self._destination.deleted:
                self.moved += 1
                departure = self._source.depart(lease)
                if departure is not None:
                    self._source.buried(departure)
                continue
            if not self._returning:
                self.stop = _STOPS[outcome]
            self._returning.append(lease)


_STOPS = {Outcome.TAKEN: Stop.GONE, Outcome.REFUSED: Stop.FULL, Outcome.LOST: Stop.DOWN}
"""The reason why a transfer ends with a message that is put back. One that was taken is so where
its queue was deleted meanwhile."""
