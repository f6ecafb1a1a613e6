"""The memory of a client, over all its connections: which declarations it need not say again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mqkit.wire.methods import Method
from reference_broker.simulation.events.definitions import Definition, Key, definition_of


class Memory:
    """A client was told that something durable is there: so it is from then on, until the client
    deletes it. One that does not ``trust`` this declares everything each time."""

    def __init__(self, *, trusts: bool) -> None:
        self._trusts = trusts
        self._there: set[Key] = set()
        self._deletions: Counter[Key] = Counter()
        """Deletions that this life of the broker was asked for and has not answered: a connection
        that was cut may still bring one."""
        self._life = 0

    def connected(self, life: int) -> None:
        """The client has a connection to that life of the broker."""
        if life != self._life:
            self._life = life
            self._deletions.clear()

    def left_to_say(self, methods: Iterable[Method]) -> list[Method]:
        """Those of a client's first ``methods`` that it has to say."""
        definitions = ((method, definition_of(method)) for method in methods)
        return [
            method for method, each in definitions if each is None or each.key not in self._there
        ]

    def declared(self, definition: Definition) -> None:
        """The client was told that this is there."""
        ends_last = all(end in self._there for end in definition.ends)
        lasts = definition.durable and ends_last and not self._deletions[definition.key]
        if lasts and self._trusts:
            self._there.add(definition.key)

    def deletion_sent(self, key: Key) -> None:
        self._there.discard(key)
        self._deletions[key] += 1

    def deleted(self, key: Key) -> None:
        """The client was told that this is gone."""
        self._deletions[key] -= 1
