"""The publishes of this node for one other node: numbered, sent, and known until they are answered.

    publish 41..57  ->  lane PUBLISH   ->  REFUSED 43, CONFIRMED 57
    publish 58..60  ->  the link is lost: 58, 59, 60 are refused

Numbers rise over all links. Whoever wants to know is told of a refusal before ``confirmed`` is at
its number, and never within his call. Telling many takes several turns: what a newer link confirms
waits until all of the older one's are told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from reference_broker.cluster.link.lane import MESSAGE_OVERHEAD_BYTES
from reference_broker.cluster.queues.kinds import PublishKind
from reference_broker.cluster.queues.lane_output import LaneOutput
from reference_broker.cluster.queues.message_octets import runs_of
from reference_broker.cluster.queues.publish_octets import (
    UNANSWERED_MAX,
    encode_publish,
    encode_run,
)
from reference_broker.cluster.queues.publish_outcomes import PublishOutcomes
from reference_broker.core.base.limits import MIB
from reference_broker.core.journal.watermark import Watermark
from reference_broker.core.message.content import Content
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.portions import Portions
from reference_broker.core.work.task import tell_each
from reference_broker.core.work.until import Until
from reference_broker.errors import LinkError

WAITING_BYTES_MAX = 8 * MIB
"""Accounted octets of publishes that may wait in front of the lane; then their publishers do."""

UNTOLD_MAX = 128 * 1024
"""Publishes whose publishers are not told yet: beyond all that may be unanswered and wait, it is
those who go on publishing while the home is down."""

UNTOLD_BYTES = 370
"""Accounted for publishes whose publisher is to be told: measured, his call included."""

_PASSED_PER_UNIT = 16
"""Publishes that are confirmed in the time that one is refused: nobody is called for them."""

Refused = Callable[[], None]


RefusedPlace = Callable[[int], None]
"""The same for publishes in a row: called with the place of one among them."""


def _alone(refused: Refused) -> RefusedPlace:
    return lambda _: refused()


class _Untold:
    """Publishes from ``first`` to ``last`` whose publisher is told of those that are refused;
    ``next`` is the first one that was not looked at."""

    __slots__ = ("_first", "_refused", "last", "next")

    def __init__(self, first: int, last: int, refused: RefusedPlace) -> None:
        self._first = self.next = first
        self.last = last
        self._refused = refused

    def refuse(self, number: int) -> None:
        """One of them was refused; nothing for one of earlier publishes, of which nobody is
        told."""
        if number >= self._first:
            self._refused(number - self._first)

    def lose(self, through: int) -> None:
        """All up to ``through`` are lost that were not looked at."""
        for number in range(self.next, through + 1):
            self._refused(number - self._first)


class _Verdict:
    """The answer to all publishes up to ``through`` that have none: they were taken, but for those
    that were refused by number, or all of them are ``lost``."""

    __slots__ = ("is_lost", "refused", "through")

    def __init__(self, through: int, *, is_lost: bool) -> None:
        self.through = through
        self.is_lost = is_lost
        self.refused = 0
        """Those by number, as far as they were told."""


class SentPublishes:
    """The publishes for one node: a :class:`~reference_broker.core.work.portions.Job` while there
    are more answers to be told than a turn has time for."""

    vhost_name = ""

    def __init__(self, work: Portions, budget: Budget) -> None:
        self.last = 0
        """The number of the last publish."""
        self.confirmed = Watermark()
        self.outcomes = PublishOutcomes()
        """Of all publishes. Read only."""
        self.connection_id = 0
        self._work = work
        self._budget = budget
        self._output: LaneOutput | None = None
        self._answered = 0
        """The last publish that is answered, or will never be."""
        self._told = 0
        """The last publish whose publisher was told that, if he wants to know."""
        self._untold: deque[_Untold] = deque()
        self._untold_count = 0
        self._refused: deque[int] = deque()
        self._verdicts: deque[_Verdict] = deque()
        self._is_listed = False
        self._room = Until()

    @property
    def held_bytes(self) -> int:
        """Accounted octets of what is known of publishes until they are answered."""
        return len(self._untold) * UNTOLD_BYTES

    # Publishing

    @property
    def has_room(self) -> bool:
        """True if one more may be published."""
        if self._untold_count >= UNTOLD_MAX:
            return False
        return self._output is None or self._output.waiting < WAITING_BYTES_MAX

    @property
    def room_comes(self) -> Until:
        """The event that one more may be published, or that the home is down."""
        return self._room

    def publish(self, queue_ids: Sequence[int], content: Content, refused: Refused | None) -> int:
        """See :meth:`~reference_broker.core.remote.ports.Home.publish`."""
        number = self._number(1, refused and _alone(refused))
        if self._output is not None:
            self._hold_where_too_many(number)
            buffers = encode_publish(number, queue_ids, content)
            self._output.add(PublishKind.PUBLISH, buffers, len(buffers[0]) + content.size)
        return number

    def publish_run(
        self, queue_id: int, contents: Sequence[Content], refused: RefusedPlace | None
    ) -> int:
        """See :meth:`~reference_broker.core.remote.ports.Home.publish_run`."""
        first = self._number(len(contents), refused)
        if self._output is not None:
            self._hold_where_too_many(self.last)
            for place, some in runs_of(contents):
                buffers = encode_run(first + place, queue_id, some)
                # As many bytes as if they had come alone: the other end accounts for each.
                size = sum(map(len, buffers)) + (len(some) - 1) * MESSAGE_OVERHEAD_BYTES
                self._output.add(PublishKind.RUN, buffers, size)
        return self.last

    def _number(self, count: int, refused: RefusedPlace | None) -> int:
        """Number so many publishes; returns the first number. Lost at once while there is no
        link."""
        first = self.last + 1
        self.last += count
        if refused is not None:
            self._untold.append(_Untold(first, self.last, refused))
            self._untold_count += count
        if self._output is None:
            self.outcomes.unreachable += count
            self._lose()
        return first

    def _hold_where_too_many(self, last: int) -> None:
        output = self._output
        if last - self._answered > UNANSWERED_MAX and output is not None and not output.is_held:
            output.flush()
            output.is_held = True

    # The link

    def begin(self, output: LaneOutput, work_number: int) -> None:
        """There is a link, over which publishes go from now on."""
        self._output = output
        self.connection_id = work_number
        output.room_comes.then(self._output_has_room)

    def end(self) -> None:
        """The link is down: what was not answered is lost, for all that is known."""
        self._output = None
        if self.last > self._answered:
            self.outcomes.in_doubt += self.last - self._answered
            self._lose()
        self._tell_of_room()

    def confirm(self, through: int) -> None:
        """Everything up to that number was answered. Raises :exc:`LinkError` for what was not
        sent."""
        if not self._answered <= through <= self.last:
            raise LinkError(
                f"publishes up to {through} are confirmed, of {self.last} that were sent, and"
                f" {self._answered} that were confirmed before"
            )
        self._answered = through
        self._judge(through, is_lost=False)
        if not self._is_listed and not self.advance():
            self._list()
        output = self._output
        if output is not None and output.is_held and self.last - through < UNANSWERED_MAX:
            output.release()

    def refuse(self, numbers: Iterable[int]) -> None:
        """Not every queue has taken these. Raises :exc:`LinkError` for what was not sent, is
        answered, or comes out of order."""
        refused = self._refused
        last = max(self._answered, refused[-1] if refused else 0)
        for number in numbers:
            if not last < number <= self.last:
                raise LinkError(f"publish {number} is refused after {last}, of {self.last}")
            refused.append(number)
            last = number

    # Telling

    def advance(self) -> bool:
        """Tell what was answered, until the budget is spent; true when all are told."""
        while self._verdicts:
            verdict = self._verdicts[0]
            if not self._tell(verdict):
                return False
            self._verdicts.popleft()
            if not verdict.is_lost:
                self.outcomes.answered(verdict.through - self._told, verdict.refused)
            self._told = verdict.through
            self.confirmed.rise(verdict.through)
        self._is_listed = False
        if len(self._room) and self.has_room:
            self._tell_of_room()
        return True

    def _tell(self, verdict: _Verdict) -> bool:
        untold, refused, budget = self._untold, self._refused, self._budget
        passed = 0
        while untold and untold[0].next <= verdict.through:
            if budget.left <= 0:
                self.confirmed.rise(untold[0].next - 1)
                return False
            publishes = untold[0]
            number = min(publishes.last, verdict.through)
            if verdict.is_lost:
                number = min(number, publishes.next + budget.left - 1)
                budget.left -= number - publishes.next + 1
                publishes.lose(number)
            else:
                while refused and refused[0] <= number:
                    publishes.refuse(refused.popleft())
                    verdict.refused += 1
                    budget.left -= 1
                passed += number - publishes.next + 1
                budget.left -= passed // _PASSED_PER_UNIT
                passed %= _PASSED_PER_UNIT
            self._untold_count -= number - publishes.next + 1
            publishes.next = number + 1
            if number == publishes.last:
                untold.popleft()
        while refused and refused[0] <= verdict.through:
            refused.popleft()
            verdict.refused += 1
        return True

    def _lose(self) -> None:
        self._answered = self.last
        self._judge(self.last, is_lost=True)
        self._list()

    def _judge(self, through: int, *, is_lost: bool) -> None:
        if self._verdicts and self._verdicts[-1].is_lost is is_lost:
            self._verdicts[-1].through = through
        else:
            self._verdicts.append(_Verdict(through, is_lost=is_lost))

    def _list(self) -> None:
        if not self._is_listed:
            self._is_listed = True
            self._work.add(self)

    # Room

    def _output_has_room(self) -> None:
        output = self._output
        if output is None:
            return
        output.room_comes.then(self._output_has_room)
        if output.waiting <= WAITING_BYTES_MAX // 2:
            self._tell_of_room()

    def _tell_of_room(self) -> None:
        if len(self._room):
            waiting, self._room = self._room, Until()
            self._work.start(tell_each(waiting, self._budget), "", self.connection_id)
