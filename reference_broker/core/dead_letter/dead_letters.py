"""Dead-lettering: a message that leaves a queue unconsumed is published to another exchange.

The law: a dead letter is a publish, so it may push another message out, which is a dead letter in
its turn. They wait in one list per virtual host and are sent one after the other, never by
recursion. The list ends: a message comes back to a queue that it has left by itself only after a
consumer rejected it (RabbitMQ's rule for cycles). Where its history has no room to tell, its hops
are bounded (``cut_letter.py``).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reference_broker.core.base.limits import Limits
from reference_broker.core.dead_letter.cut_letter import HOPS_MAX, CutLetter, cut_letter_of
from reference_broker.core.dead_letter.dead_letter_route import LikeDeaths, dead_letter_route_of
from reference_broker.core.dead_letter.later_death_header import LaterDeath, with_later_death
from reference_broker.core.message.content import Content
from reference_broker.core.message.content_frames import FRAME_OVERHEAD
from reference_broker.core.queue.death import Death, DeathReason, Deaths
from reference_broker.core.queue.enqueue import store, those_that_take

if TYPE_CHECKING:
    from reference_broker.core.dead_letter.earlier_deaths import EarlierDeaths
    from reference_broker.core.dead_letter.letter_header import LetterHeader
    from reference_broker.core.queue.ports import QueueEnvironment
    from reference_broker.core.queue.queue import Queue


class DeadLetters:
    """The work list of one virtual host. Queues :meth:`add`, and :meth:`drain` when they are at
    rest; a drain within a drain does nothing, as the outer one will come to it."""

    __slots__ = (
        "_draining",
        "_env",
        "_waiting",
        "cycles",
        "deaths",
        "header_bytes_max",
        "sent",
        "tables_dropped",
        "unroutable",
    )

    def __init__(self, env: QueueEnvironment) -> None:
        self._env = env
        self._waiting: deque[Death] = deque()
        self._draining = False
        self.deaths: Deaths = Counter()
        """Purged and deleted messages don't count."""
        self.sent = 0
        """Dead letters that at least one queue took."""
        self.unroutable = 0
        """Dropped: no such exchange, or no queue bound, or refused by all."""
        self.cycles = 0
        """Queues that were left out because the message has left them by itself before."""
        self.tables_dropped = 0
        """Deaths that are not in an x-death any more, which would not have fit a frame."""
        self.header_bytes_max = Limits().frame_max - FRAME_OVERHEAD
        """Octets of a content header that one frame carries."""

    def add(self, death: Death) -> None:
        """Send ``death`` on at the next :meth:`drain`."""
        self.deaths[death.reason, death.queue.limits.queue_type, True] += 1
        self._waiting.append(death)

    def dropped(self, queue: Queue, reason: DeathReason) -> None:
        """A message has gone for good: ``queue`` has no dead-letter exchange."""
        self.deaths[reason, queue.limits.queue_type, False] += 1

    def drain(self) -> None:
        """Send what waits, and what that pushes out, until nothing waits."""
        if self._draining:
            return
        self._draining = True
        try:
            while self._waiting:
                self._send(self._waiting.popleft())
        finally:
            self._draining = False

    def _send(self, death: Death) -> None:
        content = death.content
        target = dead_letter_route_of(death.queue)
        like = target.like_deaths(content.route, death.reason, self._env.moment.wall_ms)
        letter = like.letter_of(content.header, self.header_bytes_max)
        if letter is None:
            letter = self._later_letter(death, like, keep_cc=target.key is None)
        header, facts, copies, earlier, tables_dropped = letter
        reached = self._env.route(target.exchange, like.key, header, copies, again=True) or ()
        queues = self._without_cycles(reached, death, earlier)
        sent = Content(like.route, header, content.body)
        if tables_dropped or isinstance(content, CutLetter):
            self.tables_dropped += tables_dropped
            sent = cut_letter_of(death, sent)
            if sent.hops > HOPS_MAX:
                self.cycles += len(queues)
                queues = ()
        taking = those_that_take(queues, sent)
        if taking:
            self.sent += 1
        else:
            self.unroutable += 1
        store(taking, sent, facts, self._env, death)

    def _later_letter(self, death: Death, like: LikeDeaths, *, keep_cc: bool) -> LetterHeader:
        later = LaterDeath(
            death.content.header,
            death.queue.name,
            death.reason,
            like.death.pieces,
            self._env.moment.wall_ms,
            like.exchange,
            like.death.routing_key,
            keep_cc,
        )
        return with_later_death(later, self.header_bytes_max)

    def _without_cycles(
        self, reached: Sequence[Queue], death: Death, earlier: EarlierDeaths | None
    ) -> Sequence[Queue]:
        """Those that the message may go to: a death by rejection ends every cycle."""
        if death.reason is DeathReason.REJECTED:
            return reached
        left = death.queue.name
        if earlier is None and len(reached) == 1 and reached[0].name != left:
            return reached
        queues = [
            queue
            for queue in reached
            if queue.name != left and not (earlier is not None and earlier.has_left(queue.name))
        ]
        self.cycles += len(reached) - len(queues)
        return queues
