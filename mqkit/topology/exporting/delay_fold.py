"""The delays of a live broker's exchanges, taken out of its snapshot. Pure.

A delay is folded back into ``delays:`` only where its exchange, its queue and its binding are
exactly those that it compiles to, and nothing else of the broker speaks of them; what is not, stays
in the snapshot as plain objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.delay import DELAYED_TYPE, compile_delay, owner_of_delay
from mqkit.topology.planning.diff import canonical, key_of
from mqkit.topology.snapshot import Snapshot
from mqkit.topology.validation import MAX_DELAYS

OWN_MENTIONS = 2
"""The binding of a delay names its exchange and its queue, which have one name."""


def fold_delays(snapshot: Snapshot) -> tuple[Snapshot, dict[str, tuple[int, ...]]]:
    """``snapshot`` without what the delays add, and the delays of each exchange, shortest first."""
    live = {key_of(item): item for item in snapshot.declarations}
    spoken_of = Counter(name for item in snapshot.declarations for name in _names_in(item))
    delays: dict[str, list[int]] = {}
    for exchange in snapshot.exchanges:
        owned = owner_of_delay(exchange.name)
        if owned is None or not _may_delay(live.get(("exchange", owned[0]))):
            continue
        parts = compile_delay(*owned)
        is_whole = all(_same(part, live.get(key_of(part))) for part in parts)
        if is_whole and spoken_of[exchange.name] == OWN_MENTIONS:
            delays.setdefault(owned[0], []).append(owned[1])
    folded = {name: tuple(sorted(found)[:MAX_DELAYS]) for name, found in delays.items()}
    gone = {
        key_of(part)
        for name, found in folded.items()
        for delay_ms in found
        for part in compile_delay(name, delay_ms)
    }
    return (
        replace(
            snapshot,
            exchanges=tuple(it for it in snapshot.exchanges if key_of(it) not in gone),
            queues=tuple(it for it in snapshot.queues if key_of(it.queue) not in gone),
            bindings=tuple(it for it in snapshot.bindings if key_of(it) not in gone),
        ),
        folded,
    )


def _may_delay(owner: Declaration | None) -> bool:
    """True if a file may give the exchange ``delays:``."""
    return (
        isinstance(owner, Exchange)
        and owner.durable
        and not (owner.auto_delete or owner.internal or owner.type == DELAYED_TYPE)
    )


def _same(made: Declaration, live: Declaration | None) -> bool:
    return (
        live is not None and made == live and canonical(made.arguments) == canonical(live.arguments)
    )


def _names_in(declaration: Declaration) -> Iterator[str]:
    """The names of other objects that a declaration speaks of."""
    arguments = declaration.arguments
    match declaration:
        case Binding(source=source, destination=destination):
            yield source
            yield destination
        case Exchange():
            yield str(arguments.get("alternate-exchange"))
        case Queue():
            yield str(arguments.get("x-dead-letter-exchange"))
            yield str(arguments.get("x-dead-letter-routing-key"))
