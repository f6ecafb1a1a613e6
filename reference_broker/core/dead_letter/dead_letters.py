"""Dead-lettering: a message that leaves a queue unconsumed is published to another exchange.

The law: a dead letter is a publish, so it may push another message out, which is a dead letter in
its turn. That one stays in its queue until its turn comes (:mod:`dirty_queues`), so there is no
recursion, and no list of letters beside the queues. It ends: a message comes back to a queue that
it has left by itself only after a consumer rejected it (RabbitMQ's rule for cycles). Where its
history has no room to tell, its hops are bounded (``cut_letter.py``).
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
from reference_broker.core.remote.forward import distribute_anywhere

if TYPE_CHECKING:
    from reference_broker.core.dead_letter.earlier_deaths import EarlierDeaths
    from reference_broker.core.dead_letter.letter_header import LetterHeader
    from reference_broker.core.queue.ports import QueueEnvironment
    from reference_broker.core.queue.queue import Queue


class DeadLetters:
    """The dead letters of one virtual host, and their counts."""

    __slots__ = (
        "_env",
        "_later",
        "cycles",
        "deaths",
        "header_bytes_max",
        "sending",
        "sent",
        "tables_dropped",
        "unroutable",
    )

    def __init__(self, env: QueueEnvironment) -> None:
        self._env = env
        self._later: dict[Queue, _LaterLetters] = {}
        self.sending = False
        """True while a letter is being put into its queues."""
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

    def dropped(self, queue: Queue, reason: DeathReason) -> None:
        """A message has gone for good: ``queue`` has no dead-letter exchange."""
        self.deaths[reason, queue.limits.queue_type, False] += 1

    def send(self, death: Death) -> None:
        """Send ``death`` on: to the queues of its route at once, unless they are so many that it
        takes several portions, or another letter is just being sent."""
        self.deaths[death.reason, death.queue.limits.queue_type, True] += 1
        if self.sending:
            self._send_later(death)
        else:
            self.send_counted(death)

    def refused(self, death: Death) -> None:
        """Send a message that its queue has not taken in, behind those before it."""
        self.deaths[death.reason, death.queue.limits.queue_type, True] += 1
        self._send_later(death)

    def _send_later(self, death: Death) -> None:
        letters = self._later.get(death.queue)
        if letters is None:
            letters = self._later[death.queue] = _LaterLetters(self)
        letters.deaths.append(death)
        self._env.mark_urgent(letters)

    def all_sent(self, queue: Queue) -> None:
        """None of the letters of ``queue`` waits any more."""
        del self._later[queue]

    def send_counted(self, death: Death) -> None:
        """:meth:`send` a letter that was counted. No other may be on its way."""
        self.sending = True
        try:
            self._send(death)
        finally:
            self.sending = False

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
        if distribute_anywhere(queues, sent, facts, self._env, death):
            self.sent += 1
        else:
            self.unroutable += 1

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


class _LaterLetters:
    """The letters of one queue that wait until another one has been sent, in order. They are in no
    index, so their number is bounded where they come from: a publisher whose message was refused
    waits for the queue's rest."""

    __slots__ = ("_letters", "deaths")

    def __init__(self, letters: DeadLetters) -> None:
        self._letters = letters
        self.deaths: deque[Death] = deque()

    def dispatch(self) -> bool:
        """Send the first one; true when it was the last one."""
        death = self.deaths.popleft()
        last = not self.deaths
        if last:
            self._letters.all_sent(death.queue)
        self._letters.send_counted(death)
        return last
