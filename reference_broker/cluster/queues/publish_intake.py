"""The publishes of one origin, at the home of the queues: each is taken in its order, and answered.

    PUBLISH 41..57 in a turn  ->  REFUSED 43 at its end, and one promise: 57 when the log is synced
                                  up to here

One that can't be taken yet (its queue is not at rest, the log has no room) waits, and those behind
it do. What was taken stays, also when the link is down before it is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.queues.catalogue import Catalogue, vhost_of
from reference_broker.cluster.queues.kinds import PublishKind
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.cluster.queues.publish_octets import (
    REFUSED_AT_ONCE,
    UNANSWERED_MAX,
    Publish,
    Run,
    encode_numbers,
    read_publish,
    read_publish_run,
)
from reference_broker.core.hot_path.publish_run import enqueue_run, takes_runs
from reference_broker.core.journal.free_space import NoSpace
from reference_broker.core.journal.watermark import Watermark
from reference_broker.core.message.header import facts_of
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.core.queue.enqueue import enqueue, require_rest
from reference_broker.core.queue.fan_out import FanOut, all_of, is_too_many
from reference_broker.core.work.budget import TABLE_OCTETS_PER_UNIT
from reference_broker.core.work.until import NotYet, Until
from reference_broker.errors import AmqpError, LinkError

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.message.content import Content
    from reference_broker.core.message.header import HeaderFacts
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.vhost.vhost import VHost
    from reference_broker.core.work.task import Steps


RUN_MESSAGES_PER_UNIT = 2
"""Messages of a run that cost as much as one that comes alone."""


class PublishIntake:
    """The publishes that come over ``link``. :meth:`flush` has to be called at the end of each turn
    in which anything has come.

    ``taken`` is the number of the last publish that was taken. ``revision`` is what the peer's view
    has reached, as far as it has said so.
    """

    def __init__(
        self,
        link: Link,
        broker: Broker,
        catalogue: Catalogue,
        look_at: Callable[[Link], None],
    ) -> None:
        self.taken = Watermark()
        self.revision = 0
        self._link = link
        self._broker = broker
        self._catalogue = catalogue
        self._look_at = look_at
        self._last = 0
        self._answered = 0
        self._promised = 0
        self._refused: list[int] = []
        self._tail = broker.journal.tail
        """The log's tail when the portion began that goes on."""
        self._position = 0
        """The position that has to be synced for the last publish that the log has."""
        self._is_noted = False
        """The end of the turn is waited for."""
        self._is_closed = False

    def take(self, kind: int, reader: OctetReader) -> Steps | None:
        """See :data:`~reference_broker.cluster.queues.lane_input.TakeItem`."""
        if kind == PublishKind.RUN:
            return self._take_run(read_publish_run(reader))
        if kind != PublishKind.PUBLISH:
            raise LinkError(f"kind {kind} in the lane of publishes")
        return self._take_one(read_publish(reader))

    def _number(self, first: int, count: int) -> None:
        """Publishes from ``first`` on have come. Raises :exc:`LinkError`."""
        if self._last - self._answered > UNANSWERED_MAX:
            raise LinkError(f"more than {UNANSWERED_MAX} publishes came without an answer")
        if first <= self._last or (self._last and first != self._last + 1):
            raise LinkError(f"publish {first} came after publish {self._last}")
        if not self._last:
            self._answered = self._promised = first - 1
        self._last = first + count - 1

    def _take_run(self, run: Run) -> Steps | None:
        """Put a run into its queue at once, or each of it on its own."""
        first, contents = run.first, run.contents
        self._number(first, len(contents))
        missed: Sequence[Content] = contents
        queue = self._queue_of(run)
        facts = None if queue is None else _facts_of_all(contents)
        if queue is not None and facts is not None:
            self._tail = self._broker.journal.tail
            self._broker.budget.left -= len(contents) // RUN_MESSAGES_PER_UNIT
            missed = enqueue_run(queue, contents, facts)
            self._note(first, taken=True)
            self._have_taken(first + len(contents) - len(missed) - 1)
        if not missed:
            return None
        start = first + len(contents) - len(missed)
        return self._each(
            Publish(number, (run.queue_id,), content)
            for number, content in enumerate(missed, start)
        )

    def _queue_of(self, run: Run) -> Queue | None:
        """The queue, if it takes the run at once."""
        try:
            queue = self._catalogue.find(run.queue_id, self.revision)
        except NotYet:
            return None
        if queue is None or not takes_runs(queue) or queue.deduplication is not None:
            return None
        room = queue.env.journal.free_space
        largest = max([len(content.header) + len(content.body) for content in run.contents])
        return None if room.scarce or largest > room.plain_bytes else queue

    def _each(self, publishes: Iterable[Publish]) -> Steps:
        for publish in publishes:
            if self._broker.budget.left <= 0:
                yield None
            if self._is_closed:
                return
            steps = self._begin(publish)
            if steps is not None:
                yield from steps

    def _take_one(self, publish: Publish) -> Steps | None:
        self._number(publish.number, 1)
        return self._begin(publish)

    def _begin(self, publish: Publish) -> Steps | None:
        """Put a message into its queues, or return the steps of that."""
        try:
            self._tail = self._broker.journal.tail
            fan_out = self._put(publish)
        except (NotYet, NoSpace) as wait:
            return self._put_later(publish, self._until(wait))
        if fan_out is not None:
            return self._distribute(publish, fan_out)
        self._have_taken(publish.number)
        return None

    def until_taken(self, number: int) -> Steps:
        """The steps until the publish of that number was taken; for ever, where the link is down
        before."""
        while self.taken.value < number:
            yield self.taken.reaches(number)

    def flush(self) -> None:
        """The turn ends: answer what was taken in it, or promise to."""
        self._is_noted = False
        taken = self.taken.value
        if taken <= self._promised or self._is_closed:
            return
        for start in range(0, len(self._refused), REFUSED_AT_ONCE):
            numbers = self._refused[start : start + REFUSED_AT_ONCE]
            self._answer(PublishKind.REFUSED, numbers)
        self._refused.clear()
        self._promised = taken
        self._broker.ledger.promise(self._position, _Line(self, taken))

    def close(self) -> None:
        """The link is down: nobody is answered. Idempotent."""
        self._is_closed = True

    def confirm(self, through: int) -> None:
        """Confirm everything up to a number, as it is on disk."""
        if not self._is_closed:
            self._answered = through
            self._answer(PublishKind.CONFIRMED, (through,))

    def fail(self) -> None:
        """It never will: nothing is confirmed any more."""
        self._link.end("the disk failed")

    def _answer(self, kind: PublishKind, numbers: Sequence[int]) -> None:
        self._link.send(Lane.PUBLISH, kind, (encode_numbers(numbers),))
        self._look_at(self._link)

    # One publish

    def _put_later(self, publish: Publish, until: Until) -> Steps:
        while True:
            yield until
            if self._is_closed:
                return
            try:
                self._tail = self._broker.journal.tail
                fan_out = self._put(publish)
            except (NotYet, NoSpace) as wait:
                until = self._until(wait)
            else:
                break
        if fan_out is not None:
            yield from self._distribute(publish, fan_out)
        else:
            self._have_taken(publish.number)

    def _until(self, wait: NotYet | NoSpace) -> Until:
        if isinstance(wait, NotYet):
            return wait.until
        until = Until()
        self._broker.waiting_publishers.add(until.happened)
        return until

    def _distribute(self, publish: Publish, fan_out: FanOut) -> Steps:
        yield from all_of(fan_out)
        self._note(publish.number, taken=not fan_out.refused)
        self._have_taken(publish.number)

    def _have_taken(self, number: int) -> None:
        self.taken.rise(number)
        if not self._is_noted:
            self._is_noted = True
            self._look_at(self._link)

    def _note(self, number: int, *, taken: bool) -> None:
        if not taken:
            self._refused.append(number)
        tail = self._broker.journal.tail
        if tail != self._tail:
            self._position = tail

    def _put(self, publish: Publish) -> FanOut | None:
        """Put a message into its queues; or, where they are too many for the turn, return what is
        to be done in portions. Raises :exc:`NotYet`, :exc:`NoSpace` and :exc:`LinkError`."""
        queues = self._queues(publish)
        content = publish.content
        budget = self._broker.budget
        budget.left -= 1
        if not publish.queue_ids:
            self._broker.direct_replies.take(content)
        if not queues:
            return None
        vhost = vhost_of(queues[0])
        facts = _facts_of(content)
        if facts.has_headers:
            budget.left -= len(content.header) // TABLE_OCTETS_PER_UNIT
        self._require_room(vhost, queues, content)
        if any(queue.deduplication is not None for queue in queues):
            require_rest(queues)
            vhost.arriving.require_none(content.header)
            queues = _new_to(queues, content)
            if not queues:  # seen before: confirmed when that is on disk
                self._position = self._broker.journal.tail
                return None
        if len(queues) > 1 and is_too_many(queues, budget):
            return FanOut(queues, content, facts, vhost)
        self._note(publish.number, taken=enqueue(queues, content, facts, vhost))
        return None

    def _queues(self, publish: Publish) -> Sequence[Queue]:
        """The queues that are there: who is routed to one that was deleted meanwhile is as well
        off as if it had been deleted a moment later."""
        found: dict[int, Queue] = {}
        for queue_id in publish.queue_ids:
            queue = self._catalogue.find(queue_id, self.revision)
            if queue is not None:
                found[queue_id] = queue
        queues = tuple(found.values())
        if any(queue.env is not queues[0].env for queue in queues):
            raise LinkError(f"publish {publish.number} is for queues of several virtual hosts")
        return queues

    def _require_room(self, vhost: VHost, queues: Sequence[Queue], content: Content) -> None:
        room = vhost.journal.free_space
        size = len(content.header) + len(content.body)
        if room.scarce or size > room.plain_bytes or len(queues) > room.plain_entries:
            entries = sum(queue.durable for queue in queues)
            if entries and not room.admits(len(content.route) + size, entries):
                raise NoSpace


def _facts_of(content: Content) -> HeaderFacts:
    try:
        return facts_of(content.header)
    except AmqpError as error:
        raise LinkError(f"the header of a publish can't be read: {error}") from error


def _facts_of_all(contents: Sequence[Content]) -> HeaderFacts | None:
    """The facts of a run; ``None`` where its messages are not alike. Raises :exc:`LinkError`."""
    first = _facts_of(contents[0])
    known = b""
    for content in contents:
        if content.header != known:
            known, facts = content.header, _facts_of(content)
            if facts.expiration_ms is not None or facts.persistent != first.persistent:
                return None
    return first


def _new_to(queues: Sequence[Queue], content: Content) -> Sequence[Queue]:
    """The queues that take each message once have to be asked here, for their windows are here:
    those that have not seen it, and behind all the windows that are to note it."""
    headers = MessageHeaders(content.header)
    found = {queue.id: queue for queue in queues}
    for queue in queues:
        if queue.deduplication is not None:
            known = queue.deduplication.knows(headers)
            if known:
                del found[queue.id]
            elif known is False:
                found[queue.deduplication.queue.id] = queue.deduplication.queue
    return tuple(found.values())


class _Line(NamedTuple):
    """The promise to confirm an origin's publishes up to a number."""

    intake: PublishIntake
    through: int

    def kept(self) -> None:
        self.intake.confirm(self.through)

    def broken(self) -> None:
        self.intake.fail()
