"""Sums over all queues, channels and connections of the broker, read a step at a time.

Reading takes many turns of the loop where there are many objects. Sums of counters must not fall
from one reading to the next (rates would be negative), so what ends between its own step and the
last one is taken out again: what it counted is among the counts of what has gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from reference_broker.core.arguments.queue_type import QueueType
from reference_broker.core.broker import Broker
from reference_broker.core.channel.channel import Channel
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.traffic import traffic_of
from reference_broker.core.connection.connection import Connection
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.traffic import Traffic, traffic_of_queue

TOTALS_ENTRIES = 3
"""Entries of a portion (``request/portions.py``) that a step counts for."""

PASS_OBJECTS = 15
"""Objects of a step that only looks whether they have ended, or lets go of them."""

PASSES_MAX = 3
"""Passes over the objects that wait for one in which nothing ends. Then one is done in one step:
70 ns an object."""

_NO_TRAFFIC = Traffic()
_Numbers: TypeAlias = tuple[int, ...]
_Counted: TypeAlias = Queue | Connection | Channel


class VHostTotals(NamedTuple):
    """The sums of a virtual host: of the objects that are there, and of those that are gone.
    ``data`` is octets received and sent."""

    traffic: Traffic = _NO_TRAFFIC
    data: tuple[int, int] = (0, 0)
    ready: int = 0
    unacked: int = 0
    consumers: int = 0
    queues: int = 0


_Place: TypeAlias = tuple[str, type[Queue | Connection | Channel] | QueueType]
"""A sum's place: the virtual host, and the kind of object or the type of queue."""


_Reading: TypeAlias = tuple[_Counted, tuple[tuple[_Place, _Numbers], ...]]
"""An object, and what was read of it; nothing once that is taken out again."""


class Totals:
    """Sums of each virtual host, by its name, and of the whole broker, on this node: a queue of
    another one is counted there. Take all steps of :meth:`read` first: one for each object and some
    more, of about 3 us.

    ``by_queue_type`` is what left queues since the start; ``publishers`` is how many channels have
    published.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._read: list[_Reading] = []
        self._sums: dict[_Place, _Numbers] = {}
        self.by_vhost: dict[str, VHostTotals] = {}
        self.whole = VHostTotals()
        self.by_queue_type: dict[QueueType, Traffic] = {}
        self.publishers = 0

    def read(self) -> Iterator[None]:
        """Read every object."""
        broker = self._broker
        for vhost in list(broker.vhosts.values()):
            for queue in list(vhost.queues.values()):
                if not queue.is_elsewhere and not self._has_ended(queue):
                    lengths = (queue.ready, queue.unacked, len(queue.consumers), 1)
                    left = (vhost.name, queue.limits.queue_type), traffic_of_queue(queue)
                    self._add(queue, ((vhost.name, Queue), lengths), left)
                yield
        for connection in list(broker.connections.values()):
            yield
            if connection.vhost is None or self._has_ended(connection):
                continue
            name = connection.vhost.name
            data = (connection.received_bytes, connection.sent_bytes)
            self._add(connection, ((name, Connection), data))
            for channel in list(connection.channels.values()):
                if not self._has_ended(channel):
                    self._add(channel, ((name, Channel), traffic_of(channel)))
                    self.publishers += channel.published > 0
                yield
        for _ in range(PASSES_MAX):
            ended = self._ended_so_far()
            yield from self._take_out()
            if self._ended_so_far() == ended:
                break
        else:
            deque(self._take_out(), maxlen=0)
        self._finish()
        while self._read:
            del self._read[-PASS_OBJECTS:]
            yield

    def _add(self, counted: _Counted, *found: tuple[_Place, _Numbers]) -> None:
        self._read.append((counted, found))
        for place, numbers in found:
            known = self._sums.get(place)
            self._sums[place] = (
                numbers if known is None else tuple(map(int.__add__, known, numbers))
            )

    def _take_out(self) -> Iterator[None]:
        """Take out what has ended by now; many objects a step, for that is soon seen."""
        for number, (counted, found) in enumerate(self._read):
            if found and self._has_ended(counted):
                for place, numbers in found:
                    self._sums[place] = tuple(map(int.__sub__, self._sums[place], numbers))
                self._read[number] = (counted, ())
            if number % PASS_OBJECTS == 0:
                yield

    def _ended_so_far(self) -> tuple[int, ...]:
        """The count of objects of each kind that have ended since the start."""
        broker = self._broker
        counted = [broker.past, *(vhost.traffic for vhost in broker.vhosts.values())]
        return (
            broker.connections_closed,
            sum(each.channels_closed for each in counted),
            sum(each.queues_deleted for each in counted),
        )

    def _has_ended(self, counted: _Counted) -> bool:
        """True once its counts are among those of what has gone."""
        if isinstance(counted, Queue):
            return counted.deleted
        if isinstance(counted, Channel):
            return counted.state is ChannelState.CLOSED
        return counted.id not in self._broker.connections

    def _finish(self) -> None:
        """Add what has gone. Nothing may end between the last pass and this, so it is done at once:
        2 us for a virtual host that nobody uses, and 14 for one with some of everything."""
        broker = self._broker
        by_type = dict(broker.past.past_by_type)
        for vhost in broker.vhosts.values():
            past, name = vhost.traffic, vhost.name
            received, sent = self._sums.get((name, Connection), (0, 0))
            channels = self._sums.get((name, Channel))
            self.by_vhost[name] = VHostTotals(
                past.past if channels is None else past.past.plus(Traffic(*channels)),
                (past.received_bytes + received, past.sent_bytes + sent),
                *self._sums.get((name, Queue), (0, 0, 0, 0)),
            )
            for queue_type, traffic in past.past_by_type.items():
                there = self._sums.get((name, queue_type))
                if traffic != _NO_TRAFFIC:
                    by_type[queue_type] = by_type[queue_type].plus(traffic)
                if there is not None:
                    by_type[queue_type] = by_type[queue_type].plus(Traffic(*there))
        self.by_queue_type = by_type
        self.whole = sum_of(self.by_vhost.values(), broker.past.past)


def sum_of(totals: Iterable[VHostTotals], past: Traffic = _NO_TRAFFIC) -> VHostTotals:
    """The sums of several virtual hosts, and of messages that were counted elsewhere."""
    traffic, received, sent, ready, unacked, consumers, queues = past, 0, 0, 0, 0, 0, 0
    for each in totals:
        if each.traffic != _NO_TRAFFIC:
            traffic = traffic.plus(each.traffic)
        received += each.data[0]
        sent += each.data[1]
        ready += each.ready
        unacked += each.unacked
        consumers += each.consumers
        queues += each.queues
    return VHostTotals(traffic, (received, sent), ready, unacked, consumers, queues)
