"""Declarations and a snapshot of the broker, compared. Pure; for a look of the management API.

What a broker adds to a declaration, and what JSON can't carry, is no drift.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.drift.event import Drift, different, extra
from mqkit.topology.planning.diff import differences_between, key_of

if TYPE_CHECKING:
    from mqkit.topology.snapshot import Snapshot

Comparison: TypeAlias = "Callable[[Sequence[Declaration], Snapshot], Iterable[Drift]]"
"""Finds more than objects and bindings: policies, say. Called in a worker thread, one at a time."""

ADDED_BY_BROKERS = frozenset({"x-queue-type"})
"""Arguments that a broker writes into a declaration without them: RabbitMQ 4.0 does always, and
3.13 where the virtual host has a default queue type."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The result. ``missing`` are to be declared again, in this order; bindings that went with an
    object are not among them, but come back with it. ``doubtful`` objects differ only in what a
    broker may have added itself: an equal declare says whether they do."""

    missing: tuple[Declaration, ...]
    doubtful: tuple[Declaration, ...]
    drifts: tuple[Drift, ...]


def compare(
    wanted: Sequence[Declaration], actual: Snapshot, more: Sequence[Comparison] = ()
) -> Compared:
    """``wanted`` is what is watched (:func:`~mqkit.drift.watched.watched`)."""
    live = {key_of(declaration): declaration for declaration in actual.declarations}
    missing: list[Declaration] = []
    doubtful: list[Declaration] = []
    drifts: list[Drift] = []
    for declaration in wanted:
        found = live.get(key_of(declaration))
        if found is None:
            if not isinstance(declaration, Binding) or _is_json(declaration.arguments):
                missing.append(declaration)
        elif not isinstance(declaration, Binding):
            changes = [
                change
                for change in differences_between(declaration, found)
                if _is_json(change.desired)
            ]
            if changes and all(
                change.desired is None and change.field in ADDED_BY_BROKERS for change in changes
            ):
                doubtful.append(declaration)
                continue
            drifts += (
                different(declaration, change.field, change.desired, change.actual)
                for change in changes
            )
    drifts += (extra(binding) for binding in _undeclared(wanted, actual))
    for comparison in more:
        drifts += comparison(wanted, actual)
    return Compared(tuple(_on_their_own(missing)), tuple(doubtful), tuple(drifts))


def _on_their_own(missing: Sequence[Declaration]) -> Iterator[Declaration]:
    """``missing`` without the bindings of which an end is missing as well."""
    exchanges = {item.name for item in missing if isinstance(item, Exchange)}
    queues = {item.name for item in missing if isinstance(item, Queue)}
    for item in missing:
        if isinstance(item, Binding):
            ends = exchanges if item.to_exchange else queues
            if item.source in exchanges or item.destination in ends:
                continue
        yield item


def _undeclared(wanted: Sequence[Declaration], actual: Snapshot) -> Iterator[Binding]:
    """Bindings to objects of ``wanted`` that it does not have."""
    declared = {key_of(item) for item in wanted if isinstance(item, Binding)}
    own = {key_of(item) for item in wanted if not isinstance(item, Binding)}
    # A binding with arguments that JSON can't carry has another key there than here.
    unclear = {
        (item.source, item.destination, item.key)
        for item in wanted
        if isinstance(item, Binding) and not _is_json(item.arguments)
    }
    for binding in actual.bindings:
        end = ("exchange" if binding.to_exchange else "queue", binding.destination)
        place = (binding.source, binding.destination, binding.key)
        if end in own and key_of(binding) not in declared and place not in unclear:
            yield binding


def _is_json(value: Any) -> bool:
    """True for what comes back from a management API as it was declared: octets, times and decimal
    numbers do not."""
    if value is None or isinstance(value, bool | int | float | str):
        return True
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_json(part) for name, part in value.items())
    return isinstance(value, list | tuple) and all(map(_is_json, value))
