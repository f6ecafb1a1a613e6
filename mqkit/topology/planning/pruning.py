"""The objects of a broker that a prune may delete: what the file does not have, and nobody needs.
Pure.

A queue goes if it is empty and nobody consumes from it; an exchange if nothing is bound to it that
stays; neither, if something that stays dead-letters to it. What is forced by name goes in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.delay import owner_of_delay
from mqkit.errors import ConfigurationError
from mqkit.retry.names import owner_of_tier, parking_lot_name
from mqkit.topology.planning.diff import Key, key_of
from mqkit.topology.planning.wanted import Wanted
from mqkit.topology.policy.own import is_own, owner_of
from mqkit.topology.policy.policy_model import PolicyModel

if TYPE_CHECKING:
    from mqkit.topology.snapshot import LiveQueue, Snapshot


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of one object that the file does not have: whether it ``goes``, and why or why not."""

    goes: bool
    reason: str
    forced: bool = False


class Pruning:
    """The judgements about all that a broker has and a file does not."""

    def __init__(self, wanted: Wanted, actual: Snapshot, force: Collection[str] = ()) -> None:
        """Raises :exc:`~mqkit.errors.ConfigurationError` for a name in ``force`` that is nothing
        to delete."""
        self._wanted = wanted
        self._force = frozenset(force)
        self._queues: Mapping[str, LiveQueue] = {it.queue.name: it for it in actual.queues}
        ours = {key_of(declaration) for declaration in wanted.declarations}
        self._ours = ours
        extras = [it for it in actual.declarations if key_of(it) not in ours]
        self._check_force(extras, actual.policies)
        self._stays: dict[Key, str] = {}
        objects = [it for it in extras if not isinstance(it, Binding)]
        for declaration in objects:
            if why := self._keeps(declaration):
                self._stays[key_of(declaration)] = why
        self._keep_what_is_used(objects, actual)

    def of(self, item: Declaration | PolicyModel) -> Judgement:
        """The judgement about an object that the file does not have."""
        if isinstance(item, PolicyModel):
            return self._of_policy(item)
        if isinstance(item, Binding):
            return self._of_binding(item)
        if item.name in self._force:
            return Judgement(True, "it is not in the file; named with --force", forced=True)
        why = self._stays.get(key_of(item))
        if why:
            return Judgement(False, f"it is not in the file; kept, since {why}")
        return Judgement(True, "it is not in the file, and is deleted if it is empty and unused")

    def _of_policy(self, policy: PolicyModel) -> Judgement:
        if policy.name in self._force:
            return Judgement(True, "it is not in the file; named with --force", forced=True)
        if is_own(policy) and not self._is_there(("queue", owner_of(policy))):
            return Judgement(True, f"the queue {owner_of(policy)!r} is not there")
        return Judgement(
            False, f"it is not in the file; kept (--force {policy.name} would delete it)"
        )

    def _of_binding(self, binding: Binding) -> Judgement:
        source, destination = _ends(binding)
        there = self._is_there(source), self._is_there(destination)
        if there == (False, False) and binding.to_exchange:
            return Judgement(True, "it is not in the file, nor is what it binds")
        if False in there:
            # Unbound by itself, it would be missing if its queue turns out to be in use.
            return Judgement(False, "it is not in the file; it goes with what it binds")
        is_predeclared = binding.source.startswith("amq.")
        if destination in self._ours and (source in self._ours or is_predeclared):
            return Judgement(True, "it is not in the file, which has both its ends")
        return Judgement(False, "it is not in the file; kept, since not both its ends are either")

    def _is_there(self, key: Key) -> bool:
        """True for what is there afterwards; external and predeclared objects are, too."""
        if key in self._ours or key in self._stays or self._is_external(key):
            return True
        kind, name = key
        return kind == "exchange" and (name == "" or name.startswith("amq."))

    def _is_external(self, key: Key) -> bool:
        kind, name = key
        wanted = self._wanted
        return name in (wanted.external_queues if kind == "queue" else wanted.external_exchanges)

    def _keeps(self, item: Queue | Exchange) -> str:
        """The reason for which an object stays, whatever the others do."""
        if self._is_external(key_of(item)):
            return "the file says that it is external"
        if item.name in self._force or isinstance(item, Exchange):
            return ""
        if item.exclusive:
            return "it belongs to a connection"
        live = self._queues[item.name]
        counts = ((live.messages, "message"), (live.consumers, "consumer"))
        held = [f"{n} {noun}{'s' if n > 1 else ''}" for n, noun in counts if n]
        return f"it has {' and '.join(held)} (--force deletes it with them)" if held else ""

    def _keep_what_is_used(self, objects: Iterable[Queue | Exchange], actual: Snapshot) -> None:
        """Whatever something that stays refers to, stays; until no more is found."""
        users: dict[Key, list[tuple[Key, str]]] = {}
        for user, used, why in _uses(actual):
            users.setdefault(user, []).append((used, why))
        for user, used, why in _parts(actual):
            if user not in self._ours:  # else the file would have the part, if it needed it
                users.setdefault(user, []).append((used, why))
        candidates = {key_of(it) for it in objects if it.name not in self._force}
        waiting = [key for key in users if self._is_there_now(key, candidates)]
        while waiting:
            for used, why in users.get(waiting.pop(), ()):
                if used in candidates and used not in self._stays:
                    self._stays[used] = why
                    waiting.append(used)

    def _is_there_now(self, key: Key, candidates: set[Key]) -> bool:
        is_forced = key[1] in self._force and key not in self._ours
        return not is_forced and (key not in candidates or key in self._stays)

    def _check_force(self, extras: Iterable[Declaration], policies: Iterable[PolicyModel]) -> None:
        names = {it.name for it in extras if not isinstance(it, Binding)}
        kept = {policy.name for policy in self._wanted.policies}
        names |= {policy.name for policy in policies if policy.name not in kept}
        names -= self._wanted.external_queues | self._wanted.external_exchanges
        for name in sorted(self._force - names):
            raise ConfigurationError(
                f"--force {name}: there is no exchange, queue or policy of that name that the file"
                " does not have (one that it has is never deleted, nor is an external one)"
            )


def _ends(binding: Binding) -> tuple[Key, Key]:
    kind = "exchange" if binding.to_exchange else "queue"
    return ("exchange", binding.source), (kind, binding.destination)


def _uses(actual: Snapshot) -> Iterator[tuple[Key, Key, str]]:
    """User, used, and in what way. An exchange is used by what is bound to it: somebody publishes
    to it."""
    for binding in actual.bindings:
        source, destination = _ends(binding)
        yield destination, source, f"{binding.destination!r} is bound to it"
    for exchange in actual.exchanges:
        if (alternate := exchange.arguments.get("alternate-exchange")) is not None:
            why = f"it is the alternate of {exchange.name!r}"
            yield key_of(exchange), ("exchange", str(alternate)), why
    for live in actual.queues:
        queue, why = live.queue, f"{live.queue.name!r} dead-letters to it"
        target = queue.arguments.get("x-dead-letter-exchange")
        if target == "":
            key = str(queue.arguments.get("x-dead-letter-routing-key"))
            yield key_of(queue), ("queue", key), why
        elif target is not None:
            yield key_of(queue), ("exchange", str(target)), why


def _parts(actual: Snapshot) -> Iterator[tuple[Key, Key, str]]:
    """Owner, part, and which: retry tiers, parking lots and delays, that programs go to by name."""
    for exchange in actual.exchanges:
        if (of := owner_of_delay(exchange.name)) is not None:
            why = f"it is a delay of {of[0]!r}"
            yield ("exchange", of[0]), ("exchange", exchange.name), why
            yield ("exchange", of[0]), ("queue", exchange.name), why
    for live in actual.queues:
        name = live.queue.name
        if (tier := owner_of_tier(name)) is not None:
            yield ("queue", tier[0]), ("queue", name), f"it is a retry tier of {tier[0]!r}"
        lot = parking_lot_name(name)
        yield ("queue", name), ("queue", lot), f"it is the parking lot of {name!r}"
