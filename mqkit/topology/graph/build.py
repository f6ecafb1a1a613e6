"""The picture of a file or a broker. Folded, the tiers and the lot of a queue, and the delays of an
exchange, are lines in the node of their owner. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from mqkit.declaration import Exchange, Queue
from mqkit.retry.duration import format_duration
from mqkit.topology.graph.graph import Edge, EdgeKind, Graph, Node, NodeKind
from mqkit.topology.wiring.arguments import target_of
from mqkit.topology.wiring.counts import counted
from mqkit.topology.wiring.parts import Part, Role
from mqkit.topology.wiring.routes import PREDECLARED_TYPES
from mqkit.topology.wiring.wiring import Wiring

DEFAULT_EXCHANGE = "(default exchange)"

_Key: TypeAlias = tuple[str, str]
"""The kind of an object, and its name: an exchange and a queue may be called alike."""
_EXCHANGE, _QUEUE = "exchange", "queue"
_KINDS = {Role.TIER: NodeKind.TIER, Role.LOT: NodeKind.LOT, Role.DELAY: NodeKind.QUEUE}


def graph_of(wiring: Wiring, *, fold: bool = True) -> Graph:
    """The picture of ``wiring``, with the counts that it has. The same input gives an equal one."""
    return _Builder(wiring, fold).build()


class _Builder:
    """Gives out ids, and remembers which object has which."""

    def __init__(self, wiring: Wiring, fold: bool) -> None:
        self._wiring = wiring
        self._parts = {name: part for name, part in wiring.parts.items() if name in wiring.queues}
        self._folded = {
            name: part for name, part in self._parts.items() if fold and self._has_owner(part)
        }
        self._by_owner: dict[tuple[str, Role], list[str]] = {}
        for name, part in self._folded.items():
            self._by_owner.setdefault((part.owner, part.role), []).append(name)
        self._ids: dict[_Key, str] = {}
        self._nodes: list[Node] = []
        self._edges: dict[Edge, None] = {}

    def build(self) -> Graph:
        wiring = self._wiring
        for exchange in wiring.exchanges.values():
            if not self._is_folded_exchange(exchange.name):
                self._node((_EXCHANGE, exchange.name), NodeKind.EXCHANGE, *self._about(exchange))
        for name in sorted(wiring.external_exchanges):
            self._node((_EXCHANGE, name), NodeKind.EXCHANGE, name, "external")
        for queue in wiring.queues.values():
            if queue.name not in self._folded:
                part = self._parts.get(queue.name)
                kind = NodeKind.QUEUE if part is None else _KINDS[part.role]
                self._node((_QUEUE, queue.name), kind, *self._about_queue(queue))
        for name in sorted(wiring.external_queues):
            self._node((_QUEUE, name), NodeKind.QUEUE, name, "external", *self._depth(name))
        for edge in self._all_edges():
            self._edges[edge] = None
        return Graph(tuple(self._nodes), tuple(self._edges))

    def _has_owner(self, part: Part) -> bool:
        if part.role is Role.DELAY:
            return part.owner in self._wiring.exchanges
        owners = (self._wiring.queues, self._wiring.external_queues)
        return any(part.owner in names for names in owners) and part.owner not in self._parts

    def _is_folded_exchange(self, name: str) -> bool:
        part = self._folded.get(name)
        return part is not None and part.role is Role.DELAY

    # -- nodes ---------------------------------------------------------------------------------

    def _node(self, key: _Key, kind: NodeKind, *lines: str) -> str:
        self._ids[key] = f"n{len(self._nodes) + 1}"
        self._nodes.append(Node(self._ids[key], kind, lines))
        return self._ids[key]

    def _about(self, exchange: Exchange) -> Iterator[str]:
        yield exchange.name
        yield exchange.type
        if waits := self._waits(exchange.name, Role.DELAY):
            yield f"delays {waits}"

    def _about_queue(self, queue: Queue) -> Iterator[str]:
        yield queue.name
        kind = queue.arguments.get("x-queue-type")
        if isinstance(kind, str):
            yield kind
        yield from self._depth(queue.name)
        if waits := self._waits(queue.name, Role.TIER):
            tiers = self._by_owner[queue.name, Role.TIER]
            yield f"retry {waits}{self._lying_in(tiers)}"
        for lot in self._by_owner.get((queue.name, Role.LOT), ()):
            yield f"parks in {lot}{self._lying_in([lot])}"

    def _waits(self, owner: str, role: Role) -> str:
        parts = (self._folded[name] for name in self._by_owner.get((owner, role), ()))
        waits = sorted(part.wait_ms for part in parts if part.wait_ms is not None)
        return ", ".join(map(format_duration, waits))

    def _depth(self, name: str) -> Iterator[str]:
        messages, consumers = self._wiring.messages_in(name), self._wiring.consumers_of(name)
        if messages is not None:
            taken = "" if consumers is None else f", {counted(consumers, 'consumer')}"
            yield f"{counted(messages, 'message')}{taken}"

    def _lying_in(self, names: Iterable[str]) -> str:
        found = (self._wiring.messages_in(name) for name in names)
        counts = [messages for messages in found if messages is not None]
        return f", {counted(sum(counts), 'message')}" if counts else ""

    # -- edges ---------------------------------------------------------------------------------

    def _all_edges(self) -> Iterator[Edge]:
        yield from self._bindings()
        for exchange in self._wiring.exchanges.values():
            alternate = exchange.arguments.get("alternate-exchange")
            if isinstance(alternate, str):
                source = self._exchange(exchange.name)
                yield Edge(source, self._exchange(alternate), EdgeKind.ALTERNATE)
        for queue in self._wiring.queues.values():
            yield from self._dead_letters(queue)
        for name, part in self._parts.items():
            if name not in self._folded and part.role is not Role.DELAY:
                yield Edge(self._queue(part.owner), self._queue(name), EdgeKind.HAND_OVER)

    def _bindings(self) -> Iterator[Edge]:
        for binding in self._wiring.bindings:
            if self._is_folded_exchange(binding.source):
                continue
            find = self._exchange if binding.to_exchange else self._queue
            source, target = self._exchange(binding.source), find(binding.destination)
            yield Edge(source, target, EdgeKind.BINDING, binding.key)

    def _dead_letters(self, queue: Queue) -> Iterator[Edge]:
        target = target_of(queue.arguments)
        if target is None or queue.name in self._folded:
            return
        exchange, key = target
        source = self._queue(queue.name)
        if exchange == "" and key is not None:
            if key not in self._by_owner.get((queue.name, Role.LOT), ()):
                yield Edge(source, self._queue(key), EdgeKind.DEAD_LETTER)
            return
        yield Edge(source, self._exchange(exchange), EdgeKind.DEAD_LETTER, key or "")

    def _exchange(self, name: str) -> str:
        found = self._ids.get((_EXCHANGE, name))
        if found is not None:
            return found
        if name == "":
            return self._node((_EXCHANGE, name), NodeKind.EXCHANGE, DEFAULT_EXCHANGE)
        if name in PREDECLARED_TYPES:
            kind = PREDECLARED_TYPES[name]
            return self._node((_EXCHANGE, name), NodeKind.EXCHANGE, name, kind)
        return self._node((_EXCHANGE, name), NodeKind.MISSING, name, "no such exchange")

    def _queue(self, name: str) -> str:
        """The node of the queue, or the one that it is folded into."""
        part = self._folded.get(name)
        if part is not None:
            return (
                self._exchange(part.owner) if part.role is Role.DELAY else self._queue(part.owner)
            )
        found = self._ids.get((_QUEUE, name))
        if found is not None:
            return found
        return self._node((_QUEUE, name), NodeKind.MISSING, name, "no such queue")
