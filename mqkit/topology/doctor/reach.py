"""Exchanges that lead nowhere, and queues that nothing leads to."""

from __future__ import annotations

from collections.abc import Iterator

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology.doctor.finding import Check, Finding, Kind, Mend
from mqkit.topology.doctor.mending import Mending, yaml_text
from mqkit.topology.wiring.arguments import target_of
from mqkit.topology.wiring.routes import Routes
from mqkit.topology.wiring.wiring import Wiring

UNROUTED = ".unrouted"
"""Ends the name of a queue that keeps what an exchange can't route."""


def check_reach(wiring: Wiring, mending: Mending) -> Iterator[Finding]:
    """Alternate exchanges, exchanges without a binding, queues without one."""
    routes = Routes(wiring)
    targets = {
        queue.name: target
        for queue in wiring.queues.values()
        if (target := target_of(queue.arguments)) is not None
    }
    dead_lettered_to = {name for name, _ in targets.values()}
    for exchange in wiring.exchanges.values():
        yield from _alternate(exchange, routes, mending)
        if exchange.name not in dead_lettered_to:
            yield from _unbound(exchange, wiring, routes, mending)
    reached = {binding.destination for binding in wiring.bindings if not binding.to_exchange}
    for name, target in targets.items():
        # What comes back from its own tiers has been in the queue before.
        own = {name, wiring.parts[name].owner} if name in wiring.parts else {name}
        reached |= {queue for queue in routes.may_reach(*target).queues if queue not in own}
    for queue in wiring.queues.values():
        if queue.name not in reached and queue.name not in wiring.parts:
            yield from _unreached(queue, wiring, mending)


def _alternate(exchange: Exchange, routes: Routes, mending: Mending) -> Iterator[Finding]:
    name = exchange.arguments.get("alternate-exchange")
    if not isinstance(name, str) or routes.is_there(name):
        return
    why = f"its alternate exchange {name!r} does not exist: what is unroutable here is lost"
    if mending.is_live:
        kept = f"{name}{UNROUTED}"
        objects = (Exchange(name, "fanout"), Queue(kept), Binding(name, kept))
        mend = Mend(mending.declare(*objects))
    else:
        shown = yaml_text(name)
        mend = mending.by_file(
            f"add '{shown}: {{type: fanout}}' under exchanges:, and 'bind: [{{from: {shown}}}]' to"
            " a queue"
        )
    keys = ("alternate", "arguments")
    yield Finding(Check.ALTERNATE_MISSING, Kind.EXCHANGE, exchange.name, why, mend, keys)


def _unbound(
    exchange: Exchange, wiring: Wiring, routes: Routes, mending: Mending
) -> Iterator[Finding]:
    """An internal exchange gets nothing from publishers, and what an alternate takes is kept."""
    name = exchange.name
    if (
        exchange.internal
        or "alternate-exchange" in exchange.arguments
        or routes.bindings_from(name)
        or name in wiring.bound_besides
    ):
        return
    why = "nothing is bound to it: whatever is published to it is returned or dropped"
    if mending.is_live:
        mend = Mend(_keep_all(exchange, mending))
    else:
        key = ", key: KEY" if exchange.type in ("direct", "topic") else ""
        mend = mending.by_file(f"add 'bind: [{{from: {yaml_text(name)}{key}}}]' to a queue")
    yield Finding(Check.EXCHANGE_UNBOUND, Kind.EXCHANGE, name, why, mend)


def _keep_all(exchange: Exchange, mending: Mending) -> str:
    """The command that keeps all messages of an exchange. No binding of a direct exchange takes
    every key, so that one gets an alternate exchange."""
    name, kept = exchange.name, f"{exchange.name}{UNROUTED}"
    if exchange.type in ("topic", "fanout", "headers"):
        return mending.declare(Queue(kept), Binding(name, kept, _CATCH_ALL.get(exchange.type, "")))
    policy = ("exchanges", name, {"alternate-exchange": kept})
    return mending.declare(
        Exchange(kept, "fanout"), Queue(kept), Binding(kept, kept), policy=policy
    )


_CATCH_ALL = {"topic": "#"}


def _unreached(queue: Queue, wiring: Wiring, mending: Mending) -> Iterator[Finding]:
    """A queue with consumers has somebody who knows why."""
    if wiring.consumers_of(queue.name):
        return
    why = "no exchange leads to it: it gets only what is published to its own name"
    messages = wiring.messages_in(queue.name)
    if mending.is_live:
        mend = mending.delete_queue(queue, messages)
    else:
        mend = mending.by_file("add 'bind: [{from: EXCHANGE, key: KEY}]' if it should get more")
    yield Finding(
        Check.QUEUE_UNREACHED, Kind.QUEUE, queue.name, why, mend, ("bind",), messages=messages
    )
