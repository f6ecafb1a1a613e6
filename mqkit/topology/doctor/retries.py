"""Retry queues that do not do what they are for: left over, ownerless, on per-message TTLs; and
parking lots that nobody watches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mqkit.declaration import Queue
from mqkit.retry.duration import format_duration
from mqkit.topology.doctor.finding import Check, Finding, Kind, Mend
from mqkit.topology.doctor.mending import Mending, yaml_text
from mqkit.topology.model import Topology
from mqkit.topology.wiring.arguments import target_of
from mqkit.topology.wiring.counts import counted
from mqkit.topology.wiring.parts import Part, Role, parts_in_file
from mqkit.topology.wiring.routes import Routes
from mqkit.topology.wiring.wiring import Wiring

_WAITS = re.compile(r"retry|retries|wait|delay|backoff", re.IGNORECASE)
"""Words in the name of a queue in which messages wait."""

LOOKED_AT = 8
"""Queues that dead letters come back to; of a thousand behind a fanout exchange, the first tell."""


def check_owners(wiring: Wiring, mending: Mending) -> Iterator[Finding]:
    """Tiers and lots of a queue, and delays of an exchange, that is gone."""
    routes = Routes(wiring)
    for name, part in wiring.parts.items():
        if name not in wiring.queues:
            continue
        if part.role is Role.DELAY:
            if not routes.is_there(part.owner):
                yield _ownerless(wiring, name, part, mending)
        elif not routes.has_queue(part.owner):
            yield _ownerless(wiring, name, part, mending)


def _ownerless(wiring: Wiring, name: str, part: Part, mending: Mending) -> Finding:
    messages = wiring.messages_in(name)
    noun = "exchange" if part.role is Role.DELAY else "queue"
    end = {
        Role.TIER: "what has waited is dropped",
        Role.DELAY: "what has waited is dropped",
        Role.LOT: "nothing can be replayed",
    }[part.role]
    why = f"a {part.role} of the {noun} {part.owner!r}, which does not exist: {end}"
    if messages and part.role is not Role.DELAY:
        mend = Mend(mending.declare(Queue(part.owner)))
    else:
        mend = mending.delete_queue(wiring.queues[name], messages)
    return Finding(Check.OWNER_GONE, Kind.QUEUE, name, why, mend, messages=messages)


def check_waiting_queues(wiring: Wiring, mending: Mending) -> Iterator[Finding]:
    """Queues without a TTL that dead-letter to a queue that is worked on, so that messages wait in
    them for as long as each says itself. A queue expires messages at its head only ("Time-To-Live",
    caveats): a short wait behind a long one is as long."""
    routes = Routes(wiring)
    bound = {binding.destination for binding in wiring.bindings if not binding.to_exchange}
    retrying = {part.owner for part in wiring.parts.values() if part.role is Role.TIER}
    for queue in wiring.queues.values():
        target = target_of(queue.arguments)
        if (
            target is None
            or "x-message-ttl" in queue.arguments
            or queue.name in bound
            or queue.name in retrying
            or wiring.consumers_of(queue.name)
        ):
            continue
        reached = routes.surely_reaches(*target)[:LOOKED_AT]
        back = [
            name
            for name in reached
            if name not in wiring.parts and _is_worked_on(wiring, routes, name, queue, bound)
        ]
        if back:
            yield _waits_on_messages(wiring, queue, back[0], mending)


def _is_worked_on(
    wiring: Wiring, routes: Routes, name: str, waiting: Queue, bound: set[str]
) -> bool:
    """True if ``name`` is a queue that messages come back to: it sends them to ``waiting`` itself,
    or it is no end of the line, and the name of ``waiting`` says that messages wait there."""
    other = wiring.queues.get(name)
    target = None if other is None else target_of(other.arguments)
    if target is not None and waiting.name in routes.may_reach(*target).queues:
        return True
    goes_on = target is not None or name in bound or bool(wiring.consumers_of(name))
    return goes_on and _WAITS.search(waiting.name) is not None


def _waits_on_messages(wiring: Wiring, queue: Queue, back: str, mending: Mending) -> Finding:
    why = (
        f"messages wait in it for {back!r} by a TTL of their own: a short one behind a long one"
        " waits as long"
    )
    instead = f"'retry: {{after: [5s, 1m], then: park}}' at {yaml_text(back)} in its place"
    if mending.is_live and not mending.files:
        mend = Mend(mending.export(), f"after this, write {instead}, and apply it")
    else:
        mend = mending.by_file(f"write {instead}")
    messages = wiring.messages_in(queue.name)
    keys = ("dead_letter", "arguments")
    return Finding(
        Check.MESSAGE_TTL_RETRY, Kind.QUEUE, queue.name, why, mend, keys, messages=messages
    )


def check_left_over(topology: Topology, live: Wiring, mending: Mending) -> Iterator[Finding]:
    """Tiers and delays of a broker that the file does not make, though it has their owner."""
    declared = parts_in_file(topology)
    plain = {model.name for model in topology.queues}
    owners = {
        Role.TIER: {model.name: "retry" for model in topology.queues if not model.external},
        Role.DELAY: {model.name: "delays" for model in topology.exchanges if not model.external},
    }
    for name, part in live.parts.items():
        known = owners.get(part.role, {})
        if part.owner not in known or name in declared or name in plain:
            continue
        if name not in live.queues:
            continue
        messages = live.messages_in(name)
        wait = "" if part.wait_ms is None else f" {format_duration(part.wait_ms)}"
        check = Check.TIER_LEFT_OVER if part.role is Role.TIER else Check.DELAY_LEFT_OVER
        policy = "retry policy" if part.role is Role.TIER else "list of delays"
        waiting = (
            "an unknown number of messages" if messages is None else counted(messages, "message")
        )
        why = f"the {policy} of {part.owner!r} has no{wait} any more; in it: {waiting}"
        mend = mending.delete_queue(live.queues[name], messages)
        key = known[part.owner]
        yield Finding(check, Kind.QUEUE, name, why, mend, (key,), messages, part.owner)


def check_lots(
    topology: Topology, live: Wiring | None, watched: frozenset[str], mending: Mending
) -> Iterator[Finding]:
    """Parking lots of the file that no alert watches."""
    for model in topology.queues:
        lot = model.parking_lot
        if lot is None or lot in watched:
            continue
        messages = None if live is None else live.messages_in(lot)
        lying = f" (in it: {counted(messages, 'message')})" if messages else ""
        why = f"no alert in lots: watches it: what is parked lies there unseen{lying}"
        edit = f"add '{yaml_text(lot)}: {{alert: {{depth: 1}}}}' under lots:"
        mend = Mend(mending.lots(), edit)
        yield Finding(
            Check.LOT_UNWATCHED, Kind.QUEUE, lot, why, mend, ("retry",), messages=messages
        )
