"""Dead-lettering: a message that leaves a queue unconsumed is published to another exchange.

The law: a dead letter is a publish, so it may push another message out, which is a dead letter in
its turn. They wait in one list per virtual host and are sent one after the other, never by
recursion. The list ends: a message comes back to a queue that it has left by itself only after a
consumer rejected it (RabbitMQ's rule for cycles).
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from reference_broker.core.content import Content
from reference_broker.core.death import Death, DeathReason
from reference_broker.core.enqueue import store, those_that_take
from reference_broker.core.header import read_facts
from reference_broker.core.x_death import cc_keys_of, is_cycle, with_x_death

if TYPE_CHECKING:
    from reference_broker.core.ports import QueueEnvironment

SHORTSTR_BYTES_MAX = 255
"""Of a name or a routing key on the wire. An argument is a longstr, and may be longer."""


class DeadLetters:
    """The work list of one virtual host. Queues :meth:`add`, and :meth:`drain` when they are at
    rest; a drain within a drain does nothing, as the outer one will come to it."""

    __slots__ = ("_draining", "_env", "_waiting", "cycles", "deaths", "sent", "unroutable")

    def __init__(self, env: QueueEnvironment) -> None:
        self._env = env
        self._waiting: deque[Death] = deque()
        self._draining = False
        self.deaths: Counter[tuple[DeathReason, bool]] = Counter()
        """Messages that left by themselves, by reason, and whether their queue had a dead-letter
        exchange. Purged and deleted ones don't count."""
        self.sent = 0
        """Dead letters that at least one queue took."""
        self.unroutable = 0
        """Dropped: no such exchange, or no queue bound, or refused by all."""
        self.cycles = 0
        """Queues that were left out because the message has left them by itself before."""

    def add(self, death: Death) -> None:
        """Send ``death`` on at the next :meth:`drain`."""
        self.deaths[death.reason, True] += 1
        self._waiting.append(death)

    def dropped(self, reason: DeathReason) -> None:
        """A message has gone for good: its queue has no dead-letter exchange."""
        self.deaths[reason, False] += 1

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
        env, limits, content = self._env, death.queue.limits, death.content
        exchange, routing_key = split_route(content.route)
        own_key = limits.dead_letter_routing_key
        header, deaths = with_x_death(
            content.header,
            queue=death.queue.name,
            reason=death.reason,
            wall_ms=env.moment.wall_ms,
            exchange=exchange,
            routing_key=routing_key,
            keep_cc=own_key is None,
        )
        if own_key is None:
            keys = [routing_key, *cc_keys_of(header)]
        else:
            keys = [own_key.encode(errors="surrogateescape")]
        target = (limits.dead_letter_exchange or "").encode(errors="surrogateescape")
        letter = Content(_shortstr(target) + _shortstr(keys[0]), header, content.body)

        first, *copies = (key.decode(errors="surrogateescape") for key in keys)
        reached = env.route_again(limits.dead_letter_exchange or "", first, header, copies) or ()
        queues = [queue for queue in reached if not is_cycle(queue.name, deaths)]
        self.cycles += len(reached) - len(queues)
        taking = those_that_take(queues, letter)
        if taking:
            self.sent += 1
        else:
            self.unroutable += 1
        store(taking, letter, read_facts(header), env, death)


def split_route(route: bytes) -> tuple[bytes, bytes]:
    """Exchange name and routing key of :attr:`Content.route`."""
    end = 1 + route[0]
    return route[1:end], route[end + 1 :]


def _shortstr(octets: bytes) -> bytes:
    """Cut where it is too long. An argument may name an exchange that cannot be, which leads
    nowhere, or a key that no delivery can show whole."""
    octets = octets[:SHORTSTR_BYTES_MAX]
    return bytes((len(octets),)) + octets
