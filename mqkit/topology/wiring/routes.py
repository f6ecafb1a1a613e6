"""The way of a message: which queues an exchange gives it to, surely or possibly.

What a broker decides by headers, by a plugin or by a routing key that is not known here is possible
and never sure. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from mqkit.declaration import Binding
from mqkit.topology.cycles import topic_matches
from mqkit.topology.wiring.wiring import Wiring

PREDECLARED_TYPES = {
    "amq.direct": "direct",
    "amq.fanout": "fanout",
    "amq.topic": "topic",
    "amq.headers": "headers",
    "amq.match": "headers",
    "amq.rabbitmq.trace": "topic",
}
"""The exchanges that are on every broker (AMQP 0-9-1, 3.1.3), and their types."""


class Fit(IntEnum):
    """A binding's answer to a message."""

    NEVER = 0
    PERHAPS = 1
    SURELY = 2


@dataclass(frozen=True, slots=True)
class Reach:
    """The queues that a message may come to. ``is_open``: others, not known here, may get it."""

    queues: tuple[str, ...] = ()
    is_open: bool = False

    def __bool__(self) -> bool:
        return bool(self.queues) or self.is_open


class Routes:
    """The routing of one :class:`Wiring`."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._by_source: dict[str, list[Binding]] = {}
        # Under None stand those that other keys fit, too.
        self._by_key: dict[tuple[str, str | None], list[Binding]] = {}
        for binding in wiring.bindings:
            self._by_source.setdefault(binding.source, []).append(binding)
            key = None if _is_wild(self.type_of(binding.source), binding.key) else binding.key
            self._by_key.setdefault((binding.source, key), []).append(binding)
        self._reached: dict[tuple[str, str | None], Reach] = {}
        self._surely: dict[tuple[str, str | None], tuple[str, ...]] = {}

    def is_there(self, exchange: str) -> bool:
        """True if the exchange exists, as far as the file or the broker tells."""
        return (
            exchange == ""
            or exchange in PREDECLARED_TYPES
            or exchange in self._wiring.exchanges
            or exchange in self._wiring.external_exchanges
        )

    def has_queue(self, name: str) -> bool:
        """True if the queue exists, as far as the file or the broker tells."""
        return name in self._wiring.queues or name in self._wiring.external_queues

    def type_of(self, exchange: str) -> str | None:
        """The exchange's type; ``None`` where it is not known."""
        declared = self._wiring.exchanges.get(exchange)
        return PREDECLARED_TYPES.get(exchange) if declared is None else declared.type

    def bindings_from(self, exchange: str) -> tuple[Binding, ...]:
        """The bindings whose source is ``exchange``."""
        return tuple(self._by_source.get(exchange, ()))

    def may_reach(self, exchange: str, key: str | None) -> Reach:
        """The queues that may get a message with ``key``; without one, with any key at all."""
        if exchange == "":
            if key is None:
                return Reach(is_open=True)
            return Reach((key,) if self.has_queue(key) else ())
        if (exchange, key) in self._reached:
            return self._reached[exchange, key]
        found: dict[str, None] = {}
        is_open = False
        for name in self._passed(exchange, key, Fit.PERHAPS):
            is_open = is_open or self._is_beyond_sight(name)
            for binding in self._takers(name, key, Fit.PERHAPS):
                if not binding.to_exchange:
                    found[binding.destination] = None
        reach = self._reached[exchange, key] = Reach(tuple(found), is_open)
        return reach

    def surely_reaches(self, exchange: str, key: str | None) -> tuple[str, ...]:
        """The queues that get a message with ``key`` for certain."""
        if exchange == "":
            return (key,) if key is not None and self.has_queue(key) else ()
        if (exchange, key) in self._surely:
            return self._surely[exchange, key]
        found: dict[str, None] = {}
        for name in self._passed(exchange, key, Fit.SURELY):
            for binding in self._takers(name, key, Fit.SURELY):
                if not binding.to_exchange:
                    found[binding.destination] = None
        self._surely[exchange, key] = tuple(found)
        return tuple(found)

    def _passed(self, exchange: str, key: str | None, least: Fit) -> Iterator[str]:
        """The exchanges on the way, each once. An alternate exchange is possible only."""
        waiting, seen = [exchange], {exchange}
        while waiting:
            name = waiting.pop()
            yield name
            following = [b.destination for b in self._takers(name, key, least) if b.to_exchange]
            if least is Fit.PERHAPS and not self._takers(name, key, Fit.SURELY):
                following += self._alternate(name)
            for other in following:
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)

    def _takers(self, exchange: str, key: str | None, least: Fit) -> list[Binding]:
        """A thousand queues with keys of their own at one exchange are asked for by key."""
        kind = self.type_of(exchange)
        if key is None:
            near = self._by_source.get(exchange, [])
        else:
            at = self._by_key
            near = [*at.get((exchange, key), ()), *at.get((exchange, None), ())]
        return [binding for binding in near if _fit(kind, binding, key) >= least]

    def _alternate(self, exchange: str) -> list[str]:
        declared = self._wiring.exchanges.get(exchange)
        name = None if declared is None else declared.arguments.get("alternate-exchange")
        return [name] if isinstance(name, str) and name else []

    def _is_beyond_sight(self, exchange: str) -> bool:
        return exchange in self._wiring.external_exchanges or exchange in self._wiring.bound_besides


def _is_wild(kind: str | None, key: str) -> bool:
    """True if messages may fit the binding whose routing key is not its key."""
    return kind != "direct" and (kind != "topic" or "*" in key or "#" in key)


def _fit(kind: str | None, binding: Binding, key: str | None) -> Fit:
    match kind:
        case "fanout":
            return Fit.SURELY
        case "direct" if key is not None:
            return Fit.SURELY if binding.key == key else Fit.NEVER
        case "topic" if key is not None:
            return Fit.SURELY if topic_matches(binding.key, key) else Fit.NEVER
        case "topic" if binding.key == "#":
            return Fit.SURELY
        case _:
            return Fit.PERHAPS
