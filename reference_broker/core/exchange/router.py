"""From a message to queues: through exchanges bound to exchanges, and alternate exchanges.

The law: every exchange is passed once (cycles end), every queue is named once, and the order
depends on nothing but the topology: the first exchange's queues first, then those behind it. What a
delayed exchange holds back goes no further, and to the queue of what it holds. What an exchange has
seen before goes no further either; what is new goes to its window too, if it goes anywhere. A
message that was published once and comes a second time is no repetition: it passes every window
(:mod:`reference_broker.core.queue.enqueue` says which those are).

A message with more keys than one (CC, BCC) is one message: an exchange is passed with all of them
at once, and chooses once where it chooses. So the cost is that of its bindings and of its keys, and
not of one times the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reference_broker.core.exchange.exchange import DEFAULT_EXCHANGE, Exchange
from reference_broker.core.exchange.long_route import (
    BINDINGS_PER_UNIT,
    PORTION_BINDINGS,
    LongRoute,
    TooLong,
    Turns,
)
from reference_broker.core.message.delay_header import delay_ms
from reference_broker.core.message.message_headers import NO_HEADERS, MessageHeaders
from reference_broker.core.work.budget import UNLIMITED_UNITS

if TYPE_CHECKING:
    from reference_broker.core.exchange.binding import Binding
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.budget import Budget
    from reference_broker.core.work.task import Steps

LOOKS_PER_UNIT = 4
"""Bindings that match, and looks at what does not: 0.2 to 0.6 us each."""

LOOKS_PER_EXCHANGE = 4
"""An exchange that is passed takes as long as that, whatever it matches."""


class Router:
    """Reads a virtual host's exchanges and queues; changes nothing, and takes what a route costs
    off the ``budget`` of the turn. A binding to what is being deleted leads nowhere. ``asked``: a
    queue on the last route was asked for what it has seen."""

    __slots__ = ("_budget", "_exchanges", "_queues", "_turns", "asked")

    def __init__(
        self, exchanges: Mapping[str, Exchange], queues: Mapping[str, Queue], budget: Budget
    ) -> None:
        self._exchanges = exchanges
        self._queues = queues
        self._budget = budget
        self._turns = Turns()
        self.asked = False

    def resolve(
        self,
        exchange: Exchange,
        routing_key: str,
        header: bytes | None,
        copies: Sequence[str] = (),
        looks_max: int = UNLIMITED_UNITS,
    ) -> tuple[Queue, ...]:
        """The queues for a message that is published to ``exchange``. ``copies`` are more routing
        keys (CC, BCC): each exchange on the way is asked for all of them, and its alternate only
        where none of them matched.

        ``header`` is the content header's payload, decoded only where an exchange is reached that
        asks for more than the routing key; ``None`` counts as no headers. Raises
        :exc:`ConnectionException` 502 when it can't be decoded, and :exc:`ChannelException` 406 for
        keys that cost too much (:mod:`topic_trie`); :exc:`TooLong` for a route that takes more than
        ``looks_max`` looks.
        """
        headers = MessageHeaders(header)
        self.asked = False
        keys = (routing_key, *copies)
        found = self._reach(exchange, keys, headers, ask_windows=True, looks_max=looks_max)
        for queue in list(found.values()):
            if queue.deduplication is not None:
                self.asked = True
                _ask(queue, headers, found)
        return tuple(found.values())

    def find(
        self, route: LongRoute, exchange: Exchange, keys: Sequence[str], header: bytes
    ) -> Steps:
        """The steps of :meth:`resolve` for a route that is too long for one. They end with
        ``route`` found, and raise the same."""
        waits = self._turns.take()
        if waits is not None:
            yield waits
        try:
            headers = MessageHeaders(header)
            found: dict[int, Queue] = {}
            yield from self._reach_in_portions(exchange, keys, headers, found)
            queues = list(found.values())
            for start in range(0, len(queues), PORTION_BINDINGS):
                if self._budget.left <= 0:
                    yield None
                self._budget.left -= PORTION_BINDINGS // LOOKS_PER_UNIT
                for queue in queues[start : start + PORTION_BINDINGS]:
                    if queue.deduplication is not None:
                        route.asked = True
                        _ask(queue, headers, found)
            route.found(tuple(found.values()))
        finally:
            self._turns.give_back()

    def resolve_again(
        self,
        exchange: Exchange,
        routing_key: str,
        header: bytes | None,
        copies: Sequence[str] = (),
    ) -> tuple[Queue, ...]:
        """:meth:`resolve` for a message that comes a second time: windows are not asked, and it
        goes to none of them. The default exchange, where most dead letters go, is asked at once."""
        if exchange.name == DEFAULT_EXCHANGE and not copies:
            queue = self._queues.get(routing_key)
            return () if queue is None else (queue,)
        headers = MessageHeaders(header)
        keys = (routing_key, *copies)
        return tuple(self._reach(exchange, keys, headers, ask_windows=False).values())

    def _reach(
        self,
        exchange: Exchange,
        keys: Sequence[str],
        headers: MessageHeaders,
        *,
        ask_windows: bool,
        looks_max: int = UNLIMITED_UNITS,
    ) -> dict[int, Queue]:
        """By id, whatever the queues themselves have seen."""
        if exchange.name == DEFAULT_EXCHANGE:
            named = map(self._queues.get, keys)
            return {queue.id: queue for queue in named if queue is not None}
        found: dict[int, Queue] = {}
        windows: dict[int, Queue] = {}
        reached: dict[str, Exchange] = {exchange.name: exchange}
        ahead = [exchange]
        looks = 0
        try:
            for current in ahead:
                looks += LOOKS_PER_EXCHANGE
                seen = windows if ask_windows else None
                try:
                    bindings = self._through(current, keys, headers, found, seen)
                finally:
                    looks += current.looked
                if bindings is None:
                    continue
                if looks + len(bindings) > looks_max:
                    raise TooLong
                looks += len(bindings)
                if not self._follow(bindings, found, reached, ahead):
                    alternate = self._alternate(current)
                    if alternate is not None and alternate.name not in reached:
                        reached[alternate.name] = alternate
                        ahead.append(alternate)
        finally:
            self._budget.left -= looks // LOOKS_PER_UNIT
        if windows and found:
            found |= windows
        return found

    def _reach_in_portions(
        self,
        exchange: Exchange,
        keys: Sequence[str],
        headers: MessageHeaders,
        found: dict[int, Queue],
    ) -> Steps:
        """:meth:`_reach`, asking windows, into ``found``."""
        budget = self._budget
        windows: dict[int, Queue] = {}
        reached: dict[str, Exchange] = {exchange.name: exchange}
        ahead = [exchange]
        for current in ahead:
            bindings = self._through(current, keys, headers, found, windows)
            budget.left -= (LOOKS_PER_EXCHANGE + current.looked) // LOOKS_PER_UNIT
            if bindings is None:
                continue
            bound = list(bindings)
            leads = False
            for start in range(0, len(bound), PORTION_BINDINGS):
                if budget.left <= 0:
                    yield None
                portion = bound[start : start + PORTION_BINDINGS]
                budget.left -= len(portion) // BINDINGS_PER_UNIT
                still = [each for each in portion if current.bindings.get(each.identity) is each]
                leads |= self._follow(still, found, reached, ahead)
            if not leads:
                alternate = self._alternate(current)
                if alternate is not None and alternate.name not in reached:
                    reached[alternate.name] = alternate
                    ahead.append(alternate)
            if budget.left <= 0:
                yield None
        if windows and found:
            found |= windows

    def _through(
        self,
        current: Exchange,
        keys: Sequence[str],
        headers: MessageHeaders,
        found: dict[int, Queue],
        windows: dict[int, Queue] | None,
    ) -> Collection[Binding] | None:
        """The bindings that the message goes through, or ``None`` where it goes no further. What
        is to be told of it is noted in ``windows``, if they are asked."""
        if current.delays is not None and delay_ms(headers()):
            found[current.delays.id] = current.delays
            return None
        seen = current.deduplication
        if windows is not None and seen is not None:
            known = seen.knows(headers)
            if known:
                return None
            if known is False:
                windows[seen.queue.id] = seen.queue
        return current.match(keys[0], headers, keys[1:])

    def _follow(
        self,
        bindings: Iterable[Binding],
        found: dict[int, Queue],
        reached: dict[str, Exchange],
        ahead: list[Exchange],
    ) -> bool:
        """Note the queues and exchanges that ``bindings`` lead to; false if they lead nowhere."""
        leads = False
        queues = self._queues
        for binding in bindings:
            name = binding.destination
            if binding.destination_is_queue:
                queue = queues.get(name)
                if queue is None:
                    continue
                found[queue.id] = queue
            elif name not in reached:
                exchange = self._exchanges.get(name)
                if exchange is None:
                    continue
                reached[name] = exchange
                ahead.append(exchange)
            leads = True
        return leads

    def depends_on_headers(self, exchange: Exchange, routing_key: str) -> bool:
        """Could the route of a message to ``exchange`` depend on more than its routing key?"""
        if self.looks_at_headers(exchange):
            return True
        queues = self._reach(exchange, (routing_key,), NO_HEADERS, ask_windows=False).values()
        return any(queue.deduplication is not None for queue in queues)

    def looks_at_headers(self, exchange: Exchange) -> bool:
        """Is there an exchange behind ``exchange``, or is it itself one, that looks at more than
        the routing key? What queues have seen is asked apart."""
        reached = {exchange.name: exchange}
        ahead = [exchange]
        for current in ahead:
            if not current.routes_by_key:
                return True
            named = map(self._exchanges.get, current.downstream)
            behind = [each for each in named if each is not None]
            alternate = self._alternate(current)
            if alternate is not None:
                behind.append(alternate)
            for exchange_behind in behind:
                if exchange_behind.name not in reached:
                    reached[exchange_behind.name] = exchange_behind
                    ahead.append(exchange_behind)
        self._budget.left -= len(reached) // LOOKS_PER_UNIT
        return False

    def _alternate(self, exchange: Exchange) -> Exchange | None:
        """The alternate exchange, for messages that match no binding. It may not exist, which is no
        error. The default exchange has no bindings to match, so as an alternate it leads nowhere
        (RabbitMQ)."""
        return None if exchange.alternate is None else self._exchanges.get(exchange.alternate)


def _ask(queue: Queue, headers: MessageHeaders, found: dict[int, Queue]) -> None:
    """Ask ``queue`` for what it has seen: it is not on the route, or its window is too."""
    assert queue.deduplication is not None
    known = queue.deduplication.knows(headers)
    if known:
        del found[queue.id]
    elif known is False:
        found[queue.deduplication.queue.id] = queue.deduplication.queue
