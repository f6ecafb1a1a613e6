"""Dead-lettering: a message that leaves a queue unconsumed is published to another exchange.

The law: a dead letter is a publish, so it may push another message out, which is a dead letter in
its turn. That one stays in its queue until its turn comes (:mod:`dirty_queues`), so there is no
recursion, and no list of letters beside the queues. It ends: a message comes back to a queue that
it has left by itself only after a consumer rejected it (RabbitMQ's rule for cycles).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reference_broker.core.dead_letter.dead_letter_route import dead_letter_route_of
from reference_broker.core.dead_letter.first_death_header import with_first_death
from reference_broker.core.dead_letter.x_death import cc_keys_of, is_cycle, with_x_death
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import read_facts
from reference_broker.core.queue.death import Death, DeathReason, Deaths
from reference_broker.core.queue.fan_out import distribute

if TYPE_CHECKING:
    from reference_broker.core.queue.ports import QueueEnvironment
    from reference_broker.core.queue.queue import Queue


class DeadLetters:
    """The dead letters of one virtual host, and their counts."""

    __slots__ = ("_env", "_later", "cycles", "deaths", "sending", "sent", "unroutable")

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
        name = death.queue.name
        exchange, routing_key = split_route(content.route)
        target = dead_letter_route_of(death.queue)
        own_key = target.key
        wall_ms = self._env.moment.wall_ms
        pieces = target.pieces(death.reason, exchange)
        first = with_first_death(content.header, pieces, wall_ms, routing_key)
        deaths: Sequence[tuple[str, str]]
        copies: Sequence[str] = ()
        if first is not None:
            header, facts = first
            deaths = ((name, death.reason),)
        else:
            header, deaths = with_x_death(
                content.header,
                queue=name,
                reason=death.reason,
                wall_ms=wall_ms,
                exchange=exchange,
                routing_key=routing_key,
                keep_cc=own_key is None,
            )
            facts = read_facts(header)
            if own_key is None:
                copies = [key.decode(errors="surrogateescape") for key in cc_keys_of(header)]
        if own_key is None:
            key = routing_key.decode(errors="surrogateescape")
            route = target.exchange_octets + content.route[1 + len(exchange) :]
        else:
            key = own_key
            route = target.route
        reached = self._env.route(target.exchange, key, header, copies, again=True) or ()
        queues = self._without_cycles(reached, deaths)
        letter = Content(route, header, content.body)
        if distribute(queues, letter, facts, self._env, death):
            self.sent += 1
        else:
            self.unroutable += 1

    def _without_cycles(
        self, reached: Sequence[Queue], deaths: Sequence[tuple[str, str]]
    ) -> Sequence[Queue]:
        """Those that a message with these deaths may go to."""
        queues = [queue for queue in reached if not is_cycle(queue.name, deaths)]
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


def split_route(route: bytes) -> tuple[bytes, bytes]:
    """Exchange name and routing key of :attr:`Content.route`."""
    end = 1 + route[0]
    return route[1:end], route[end + 1 :]
