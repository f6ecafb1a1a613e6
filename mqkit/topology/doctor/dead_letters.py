"""Dead letters that come to nobody: no exchange, no queue, a ring, a quorum queue that drops.

All that can't be told from the file or the broker (an external exchange, a headers binding) is
taken for right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.retry.compile import UNLIMITED_DELIVERIES
from mqkit.retry.names import parking_lot_name
from mqkit.topology.cycles import find_cycles
from mqkit.topology.doctor.finding import Check, Finding, Kind, Mend
from mqkit.topology.doctor.mending import Mending, yaml_text
from mqkit.topology.wiring.arguments import target_of
from mqkit.topology.wiring.parts import Role
from mqkit.topology.wiring.routes import Routes
from mqkit.topology.wiring.wiring import Wiring

KEYS = ("dead_letter", "retry", "arguments")


def check_dead_letters(wiring: Wiring, mending: Mending) -> Iterator[Finding]:
    """Everything about dead letters, queue by queue, and then the rings."""
    routes = Routes(wiring)
    for queue in wiring.queues.values():
        part = wiring.parts.get(queue.name)
        if part is not None and part.role is Role.TIER and not routes.has_queue(part.owner):
            continue  # told by what becomes of tiers whose queue is gone
        yield from _target(queue, wiring, routes, mending)
        yield from _strategy(queue, mending)
        yield from _quorum(queue, mending)
    yield from _rings(wiring, routes, mending)


def _target(queue: Queue, wiring: Wiring, routes: Routes, mending: Mending) -> Iterator[Finding]:
    target = target_of(queue.arguments)
    if target is None:
        return
    exchange, key = target
    lot = parking_lot_name(queue.name)
    if not routes.is_there(exchange):
        why = f"its dead-letter exchange {exchange!r} does not exist: dead letters are dropped"
        edit = (
            f"add 'bind: [{{from: {yaml_text(exchange)}}}]' to a queue, and"
            f" '{yaml_text(exchange)}: {{type: fanout}}' under exchanges:"
        )
        mend = _mend(
            mending,
            edit,
            (Exchange(exchange, "fanout"), Queue(lot), Binding(exchange, lot)),
        )
        yield _finding(Check.DEAD_LETTER_EXCHANGE_MISSING, queue, why, mend)
    elif exchange == "" and key is None:
        yield from _own_key(queue, wiring, routes, mending)
    elif exchange == "" and key is not None and not routes.has_queue(key):
        why = f"its dead letters go to the queue {key!r}, which does not exist: they are dropped"
        mend = _mend(mending, f"add '{yaml_text(key)}:' under queues:", (Queue(key),))
        yield _finding(Check.DEAD_LETTER_UNROUTED, queue, why, mend)
    elif not routes.may_reach(exchange, key):
        said = "with their own keys" if key is None else f"with the key {key!r}"
        why = f"no binding of {exchange!r} takes its dead letters ({said}): they are dropped"
        bindings = [Binding(exchange, lot, each) for each in _keys_to_bind(routes, queue, target)]
        shown = f"{{from: {yaml_text(exchange)}, key: {yaml_text(bindings[0].key)}}}"
        edit = f"add 'bind: [{shown}]' to a queue"
        yield _finding(
            Check.DEAD_LETTER_UNROUTED, queue, why, _mend(mending, edit, (Queue(lot), *bindings))
        )


def _own_key(queue: Queue, wiring: Wiring, routes: Routes, mending: Mending) -> Iterator[Finding]:
    """The default exchange with a message's own key: a queue of that name, if there is one."""
    bound = [b for b in wiring.bindings if b.destination == queue.name and not b.to_exchange]
    if not bound or any(routes.has_queue(b.key) or routes.type_of(b.source) is None for b in bound):
        return
    lot = parking_lot_name(queue.name)
    why = (
        "its dead letters go to the queue that is called as their routing key is, and no queue is"
        f" called like a key that it is bound with ({bound[0].key!r}): they are dropped"
    )
    shown = yaml_text(lot)
    edit = f"write 'dead_letter: {{exchange: \"\", key: {shown}}}' and '{shown}:' under queues:"
    policy = ("queues", queue.name, {"dead-letter-routing-key": lot})
    yield _finding(
        Check.DEAD_LETTER_UNROUTED, queue, why, _mend(mending, edit, (Queue(lot),), policy)
    )


def _keys_to_bind(routes: Routes, queue: Queue, target: tuple[str, str | None]) -> list[str]:
    exchange, key = target
    match routes.type_of(exchange):
        case "topic" if key is None:
            return ["#"]
        case "direct" if key is None:
            return [queue.name]
        case "direct" | "topic":
            return [key or ""]
        case _:
            return [""]


def _strategy(queue: Queue, mending: Mending) -> Iterator[Finding]:
    """RabbitMQ, "Quorum Queues": at-least-once asks for ``reject-publish``, else it is as if it
    had not been said."""
    arguments = queue.arguments
    if (
        arguments.get("x-queue-type") == "quorum"
        and arguments.get("x-dead-letter-strategy") == "at-least-once"
        and arguments.get("x-overflow", "drop-head") != "reject-publish"
    ):
        why = "at-least-once dead-lettering is in force only beside 'overflow: reject-publish'"
        if mending.is_live:
            mend = Mend(mending.set_policy(queue.name, {"overflow": "reject-publish"}))
        else:
            mend = mending.by_file("write 'overflow: reject-publish'")
        yield _finding(Check.AT_LEAST_ONCE_VOID, queue, why, mend)


def _quorum(queue: Queue, mending: Mending) -> Iterator[Finding]:
    """A message over the delivery limit of a quorum queue is dropped where no dead-letter target
    is (RabbitMQ "Quorum Queues", poison messages; 20 by default since 4.0)."""
    arguments = queue.arguments
    if arguments.get("x-queue-type") != "quorum" or target_of(arguments) is not None:
        return
    limit = arguments.get("x-delivery-limit")
    if isinstance(limit, int) and not 0 <= limit < UNLIMITED_DELIVERIES:
        return
    said = "20 (the default since RabbitMQ 4.0)" if limit is None else str(limit)
    why = f"no dead-letter target: after {said} failed deliveries a message is dropped"
    lot = parking_lot_name(queue.name)
    edit = "write 'retry: {after: [5s, 1m], then: park}', or a dead_letter:"
    definition = {"dead-letter-exchange": "", "dead-letter-routing-key": lot}
    policy = ("queues", queue.name, definition)
    mend = _mend(mending, edit, (compiled_lot(lot),), policy)
    yield _finding(Check.QUORUM_DROPS, queue, why, mend, ("type", "arguments"))


def compiled_lot(name: str) -> Queue:
    """A quorum parking lot, from which nothing is dropped."""
    arguments = {"x-queue-type": "quorum", "x-delivery-limit": UNLIMITED_DELIVERIES}
    return Queue(name, arguments=arguments)


def _rings(wiring: Wiring, routes: Routes, mending: Mending) -> Iterator[Finding]:
    """RabbitMQ drops what goes round a ring without a rejection ("Dead Letter Exchanges")."""
    graph: dict[str, tuple[str, ...]] = {}
    for queue in wiring.queues.values():
        target = target_of(queue.arguments) if leaves_by_itself(queue) else None
        graph[queue.name] = () if target is None else routes.surely_reaches(*target)
    for cycle in find_cycles(graph):
        queue = wiring.queues[cycle[0]]
        way = " -> ".join((*cycle, cycle[0]))
        why = f"a ring of TTLs or limits ({way}): the broker drops what comes round"
        if not mending.is_live:
            mend = mending.by_file("let one hop end in a parking lot, or leave its TTL out")
        else:
            waits = [name for name in cycle if not wiring.consumers_of(name)]
            hop = wiring.queues[(waits or list(cycle))[-1]]
            command = mending.delete_queue(hop, wiring.messages_in(hop.name)).command
            mend = Mend(command, "empty this hop; after it, let it end in a parking lot")
        yield _finding(Check.DEAD_LETTER_RING, queue, why, mend)


def leaves_by_itself(queue: Queue) -> bool:
    """True if the broker alone makes messages leave the queue."""
    return any(
        name in queue.arguments for name in ("x-message-ttl", "x-max-length", "x-max-length-bytes")
    )


def _mend(
    mending: Mending,
    edit: str,
    objects: tuple[Exchange | Queue | Binding, ...],
    policy: tuple[str, str, Any] | None = None,
) -> Mend:
    if mending.is_live:
        return Mend(mending.declare(*objects, policy=policy))
    return mending.by_file(edit)


def _finding(
    check: Check, queue: Queue, why: str, mend: Mend, keys: tuple[str, ...] = KEYS
) -> Finding:
    return Finding(check, Kind.QUEUE, queue.name, why, mend, keys)
