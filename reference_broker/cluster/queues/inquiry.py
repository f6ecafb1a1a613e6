"""The questions of an origin about queues that have their home here: basic.get, counts, a purge.

Each is asked of a queue at rest, as if it came over a channel. It waits for what it comes after,
and nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from reference_broker.cluster.queues.answer_octets import (
    encode_counted,
    encode_error,
    encode_got,
    encode_number,
    encode_purged,
)
from reference_broker.cluster.queues.kinds import AnswerKind, CommandKind
from reference_broker.core.methods.queue import declared_consumers
from reference_broker.core.queue.delivery_counts import shown_content
from reference_broker.core.queue.removal import purge
from reference_broker.core.queue.rest import require_no_leaving, require_rest
from reference_broker.core.remote.ports import Counts, Got, Purged, QueueGone
from reference_broker.core.work.until import NotYet, Until

if TYPE_CHECKING:
    from reference_broker.cluster.queues.command_octets import Question
    from reference_broker.cluster.queues.held_leases import HeldLeases
    from reference_broker.cluster.queues.lane_output import LaneOutput
    from reference_broker.core.broker import Broker
    from reference_broker.core.queue.lease import Lease
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps

_T = TypeVar("_T")

_Answer = Generator[Until | None, None, _T]


class InquirySession(Protocol):
    """The session of an origin, as its questions see it."""

    output: LaneOutput
    leases: HeldLeases
    is_closed: bool
    broker: Broker

    def until_taken(self, number: int) -> Steps:
        """The steps until the origin's publish of that number was taken."""
        ...

    def find(self, queue_id: int) -> Queue | None:
        """The queue; ``None`` if it is deleted. Raises :exc:`NotYet`, for one that is about to go,
        too."""
        ...

    def fail(self, reason: str) -> None:
        """End the link."""
        ...


def gone(queue_id: int) -> QueueGone:
    """The error for a queue that was deleted while it was asked for."""
    return QueueGone(f"no queue with id {queue_id} at its home node")


class Inquiry:
    """One question of an origin. Its :meth:`steps` end when it is answered, or the link is down;
    they may go on for the disk, which nobody waits for."""

    __slots__ = ("_kind", "_question", "_session")

    def __init__(self, session: InquirySession, kind: CommandKind, question: Question) -> None:
        self._session = session
        self._kind = kind
        self._question = question

    def steps(self) -> Steps:
        """The steps to the answer."""
        yield from self._session.until_taken(self._question.after)
        if self._kind is CommandKind.GET:
            yield from self._get()
        elif self._kind is CommandKind.COUNT:
            yield from self._count()
        else:
            yield from self._purge()

    def _until_it_can(self, act: Callable[[Queue], _T | Until]) -> _Answer[_T | None]:
        """``act`` on the queue, again and again until it has nothing to wait for. ``None`` where
        the queue is gone, of which the origin is told, or the link."""
        session = self._session
        while not session.is_closed:
            try:
                queue = session.find(self._question.queue_id)
                if queue is None:
                    error = encode_error(self._question.token, gone(self._question.queue_id))
                    session.output.add_small(AnswerKind.UNANSWERED, error)
                    return None
                outcome = act(queue)
            except NotYet as wait:
                outcome = wait.until
            if not isinstance(outcome, Until):
                return outcome
            yield outcome
        return None

    # basic.get

    def _get(self) -> Steps:
        yield from self._until_it_can(self._take)

    def _take(self, queue: Queue) -> bool | Until:
        session, question = self._session, self._question
        if not session.output.has_room:
            return session.output.room_comes
        lease = queue.get(session, no_ack=question.no_ack)
        if lease is None:
            if queue.ready:
                head_comes = Until()
                queue.backlog.await_head(head_comes.happened)
                return head_comes
            queue.note_got_empty()
            session.output.add_small(AnswerKind.GOT_NOTHING, encode_number(question.token))
            return True
        self._send(queue, lease)
        return True

    def _send(self, queue: Queue, lease: Lease) -> None:
        session, question = self._session, self._question
        content = shown_content(lease)
        got = Got(lease.number, lease.redelivered, content, queue.ready)
        buffers = encode_got(question.token, got)
        session.output.add(AnswerKind.GOT, buffers, len(buffers[0]) + content.size)
        if question.no_ack:
            queue.ack(lease)
        else:
            session.leases.add(lease)

    # Counts

    def _count(self) -> Steps:
        counts = yield from self._until_it_can(_counts)
        if counts is not None:
            counted = encode_counted(self._question.token, counts)
            self._session.output.add_small(AnswerKind.COUNTED, counted)

    # Purge

    def _purge(self) -> Steps:
        queue = yield from self._until_it_can(_at_rest)
        if queue is None:
            return
        purged = Purged((yield from purge(queue)))
        position = self._session.broker.journal.tail if queue.durable else 0
        answer = partial(self._purged, purged)
        fail = partial(self._session.fail, "the disk failed")
        self._session.broker.ledger.promise(position, _Synced(answer, fail))

    def _purged(self, purged: Purged) -> None:
        item = encode_purged(self._question.token, purged)
        self._session.output.add_small(AnswerKind.PURGED, item)


class _Synced:
    """A promise as two callbacks."""

    __slots__ = ("broken", "kept")

    def __init__(self, kept: Callable[[], None], broken: Callable[[], None]) -> None:
        self.kept = kept
        self.broken = broken


def _counts(queue: Queue) -> Counts:
    require_rest(queue)
    require_no_leaving(queue)
    queue.touch()
    return Counts(queue.ready, queue.unacked, len(queue.consumers), declared_consumers(queue))


def _at_rest(queue: Queue) -> Queue:
    require_rest(queue)
    return queue
