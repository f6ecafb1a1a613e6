"""The model of what clients have defined and deleted, and what each object may be by now.

- What was answered is so, from then on, and after any restart: there, or gone.
- What was asked and not answered may be so at any time until the broker's process is gone: a
  connection that is cut may still bring it. What a start has found stays.
- What is not durable is gone at a start, and a binding whose ends are not there is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reference_broker.simulation.events.definitions import Definition, Definitions, Key


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One request that makes objects or deletes them. ``results`` has what each of them is after
    it, ``None`` for gone."""

    results: Mapping[Key, Definition | None]


class DefinitionModel:
    """One virtual host, whose objects are used by one client each, one session after another; or by
    several that only declare the same."""

    def __init__(self) -> None:
        self._may_be: dict[Key, set[Definition | None]] = {}
        self._open: list[Change] = []
        """Requests to this process that were not answered."""
        self._lasts: dict[Key, bool] = {}

    def asked(self, *definitions: Definition, deleted: Iterable[Key] = ()) -> Change:
        """Somebody asks for ``definitions``, or for the end of others with all that hangs on them.
        Tell :meth:`answered` when it is."""
        results: dict[Key, Definition | None] = {each.key: each for each in definitions}
        for key in deleted:
            results |= dict.fromkeys(self._with_bindings(key))
        for key, definition in results.items():
            self._may_be.setdefault(key, {None}).add(definition)
            if definition is not None:
                ends_last = all(self._lasts.get(end, False) for end in definition.ends)
                self._lasts[key] = definition.durable and ends_last
        change = Change(results)
        self._open.append(change)
        return change

    def answered(self, change: Change) -> None:
        """It is done. Says nothing new where that process is gone."""
        if change not in self._open:
            return
        self._open.remove(change)
        for key, definition in change.results.items():
            still_open = {each.results[key] for each in self._open if key in each.results}
            self._may_be[key] = {definition} | still_open

    def state(self, key: Key) -> bool | None:
        """True for an object that is surely there, false for one that surely is not; ``None`` where
        nobody knows."""
        may_be = self._may_be.get(key, {None})
        if None in may_be:
            return False if len(may_be) == 1 else None
        return True

    def started(self, found: Definitions) -> str:
        """A process has started, and has ``found`` that. Returns what is wrong with it, or
        nothing."""
        self._open.clear()
        for key, lasts in self._lasts.items():
            if not lasts:
                self._may_be[key] = {None}
        wrong = self.look(found) or _without_end(found)
        for key in self._may_be:
            self._may_be[key] = {self._known_as(found[key]) if key in found else None}
        return wrong

    def look(self, found: Definitions) -> str:
        """Says what is wrong with the objects of a process, at any time; or nothing."""
        for key in found:
            if key not in self._may_be:
                return f"{_named(key)} is there, and nobody has declared it"
        for key, may_be in self._may_be.items():
            there = found.get(key)
            if there is None:
                if None not in may_be:
                    return f"{_named(key)} is gone, and its declaration was answered"
            elif not any(self._is_same(each, there) for each in may_be):
                wanted = " or ".join(sorted(str(each) for each in may_be))
                return f"{_named(key)} is {there}, and may be {wanted}"
        return ""

    def _is_same(self, known: Definition | None, there: Definition) -> bool:
        return (
            known is not None
            and known.value == there.value
            and self._lasts[known.key] == there.durable
        )

    def _known_as(self, there: Definition) -> Definition:
        same = (each for each in self._may_be[there.key] if each and each.value == there.value)
        return next(same, there)

    def _with_bindings(self, key: Key) -> Iterable[Key]:
        yield key
        for other, may_be in self._may_be.items():
            if any(each is not None and key in each.ends for each in may_be):
                yield other


def _named(key: Key) -> str:
    return f"{key[0]} {', '.join(repr(part) for part in key[1:])}"


def _without_end(found: Definitions) -> str:
    for key, definition in found.items():
        for end in definition.ends:
            if end not in found:
                return f"{_named(key)} is there after a start, and {_named(end)} is not"
    return ""
