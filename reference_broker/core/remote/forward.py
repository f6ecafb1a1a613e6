"""Messages on their way to queues of other nodes.

publish, tx.commit     to each home at once; the client's answer waits for what the homes say
a dead letter          to the other nodes first; when all of them have it, to the queues here,
                       with which it leaves the queue that it comes from (:class:`RemoteLetter`)
a moved message        see :mod:`remote_transfer`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reference_broker.core.queue.fan_out import distribute
from reference_broker.core.remote.handover import Outcome, hand_over
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.work.until import NotYet

if TYPE_CHECKING:
    from reference_broker.core.journal.watermark import Watermark
    from reference_broker.core.message.content import Content
    from reference_broker.core.message.header import HeaderFacts
    from reference_broker.core.queue.death import Death
    from reference_broker.core.queue.ports import QueueEnvironment
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.queue.transfer import Departure
    from reference_broker.core.remote.ports import Home

RETRY_MS = 1_000
"""Milliseconds after which a dead letter is sent again that a home may not have: it was lost."""


def are_all_here(queues: Sequence[Queue]) -> bool:
    """True where none of ``queues`` has its home elsewhere. Asked of most messages."""
    for queue in queues:  # noqa: SIM110 - a call for each costs more than all of this
        if queue.is_elsewhere:
            return False
    return True


def require_room(queues: Sequence[Queue]) -> None:
    """Raises :exc:`NotYet` where too much waits for one of the homes of ``queues``."""
    for queue in queues:
        if isinstance(queue, RemoteQueue) and not queue.home.has_room:
            raise NotYet(queue.home.room_comes())


def by_home(queues: Sequence[Queue]) -> tuple[tuple[Queue, ...], dict[Home, list[RemoteQueue]]]:
    """The ones of ``queues`` that are here, and the others by their homes."""
    here: list[Queue] = []
    away: dict[Home, list[RemoteQueue]] = {}
    for queue in queues:
        if isinstance(queue, RemoteQueue):
            away.setdefault(queue.home, []).append(queue)
        else:
            here.append(queue)
    return tuple(here), away


def send_away(
    queues: Sequence[Queue], content: Content, refused: Callable[[], None] | None
) -> tuple[tuple[Queue, ...], list[tuple[Watermark, int]]]:
    """Publish ``content`` to those of ``queues`` that are elsewhere: the others, for which the
    caller sees to it, and what to wait for before anybody is told that it is there. ``refused`` may
    be called until then, once for each home (:meth:`~.ports.Home.publish`)."""
    here, away = by_home(queues)
    marks = []
    for home, there in away.items():
        ids = [queue.id for queue in there]
        marks.append((home.confirmed, home.publish(ids, content, refused)))
        for queue in there:
            queue.published += 1
    return here, marks


def distribute_anywhere(
    queues: Sequence[Queue],
    content: Content,
    facts: HeaderFacts,
    env: QueueEnvironment,
    source: Death | Departure,
) -> bool:
    """:func:`~reference_broker.core.queue.fan_out.distribute`, where some of ``queues`` may be
    elsewhere."""
    if are_all_here(queues):
        return distribute(queues, content, facts, env, source)
    here, away = by_home(queues)
    RemoteLetter(here, away, content, facts, env, source).send()
    return True


class RemoteLetter:
    """A message that leaves a queue of this node, and goes to others too. It is in its queue, as
    taken, until all of them have it: so it may come twice after a crash, and is never lost."""

    def __init__(
        self,
        here: Sequence[Queue],
        away: dict[Home, list[RemoteQueue]],
        content: Content,
        facts: HeaderFacts,
        env: QueueEnvironment,
        source: Death | Departure,
    ) -> None:
        self._here = here
        self._away = away
        self._content = content
        self._facts = facts
        self._env = env
        self._source = source

    def send(self) -> None:
        """Send it to the next home that does not have it; with none left, to the queues here."""
        while self._away:
            home, queues = next(iter(self._away.items()))
            ids = [queue.id for queue in queues if not queue.deleted]
            if ids:
                self._send_to(home, ids)
                return
            del self._away[home]
        self._send_here()

    def _send_to(self, home: Home, ids: Sequence[int]) -> None:
        hand_over(home, ids, self._content, partial(self._answered, home))

    def _answered(self, home: Home, outcome: Outcome) -> None:
        if outcome is Outcome.LOST:
            self._env.deadlines.at(self._env.moment.wall_ms + RETRY_MS, self.send)
            return
        del self._away[home]  # a queue that is full has refused it, as it would have here
        self.send()

    def _send_here(self) -> None:
        source = self._source
        here = [queue for queue in self._here if not queue.deleted]
        if here:
            distribute(here, self._content, self._facts, self._env, source)
        elif source.sequence >= 0:
            source.queue.buried(source)
