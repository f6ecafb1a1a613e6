"""Matchers: each exchange type's choice of the bindings that a message goes through.

The protocol, the two plain types (fanout and direct), and :class:`BindingOrder` for those that pick
a binding by its number. The others are in :mod:`topic_trie`, :mod:`headers_match`,
:mod:`hash_match` and :mod:`random_match`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from reference_broker.core.exchange.binding import Binding, BindingIdentity
from reference_broker.core.message.message_headers import MessageHeaders


class Matcher(Protocol):
    """The bindings of one exchange, arranged so that the matching ones are found quickly.

    ``by_key_alone``: messages with the same routing key go through the same bindings. ``looked``:
    the looks of the last match at what was no match, each about as dear as a binding that was.
    """

    by_key_alone: bool
    looked: int

    def add(self, binding: Binding) -> None:
        """``binding`` is not here yet, and its arguments suit the exchange's type."""
        ...

    def remove(self, binding: Binding) -> None:
        """``binding`` is here."""
        ...

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> Collection[Binding]:
        """Each once, in an order that depends on nothing but the bindings. ``more_keys`` are those
        of CC and BCC, for a type that looks for bindings by key; to any other the message is one
        message."""
        ...


class FanoutMatcher:
    """Every binding matches."""

    __slots__ = ("_bindings",)
    by_key_alone = True
    looked = 0

    def __init__(self) -> None:
        self._bindings: dict[BindingIdentity, Binding] = {}

    def add(self, binding: Binding) -> None:
        self._bindings[binding.identity] = binding

    def remove(self, binding: Binding) -> None:
        del self._bindings[binding.identity]

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> Collection[Binding]:
        return self._bindings.values()


class DirectMatcher:
    """The bindings with exactly the message's routing key match."""

    __slots__ = ("_by_key",)
    by_key_alone = True
    looked = 0

    def __init__(self) -> None:
        self._by_key: dict[str, dict[BindingIdentity, Binding]] = {}

    def add(self, binding: Binding) -> None:
        self._by_key.setdefault(binding.key, {})[binding.identity] = binding

    def remove(self, binding: Binding) -> None:
        same_key = self._by_key[binding.key]
        del same_key[binding.identity]
        if not same_key:
            del self._by_key[binding.key]

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> Collection[Binding]:
        if not more_keys:
            return self._by_key.get(routing_key, {}).values()
        keys = dict.fromkeys((routing_key, *more_keys))
        return [binding for key in keys for binding in self._by_key.get(key, {}).values()]


class BindingOrder:
    """The bindings of an exchange that picks one of them by its number: oldest first, in a list
    that is made anew at the first look after a change."""

    __slots__ = ("_bindings", "_listed")

    def __init__(self) -> None:
        self._bindings: dict[BindingIdentity, Binding] = {}
        self._listed: list[Binding] | None = None

    def add(self, binding: Binding) -> None:
        self._bindings[binding.identity] = binding
        self._listed = None

    def remove(self, binding: Binding) -> None:
        del self._bindings[binding.identity]
        self._listed = None

    def all(self) -> list[Binding]:
        """Read only."""
        if self._listed is None:
            self._listed = list(self._bindings.values())
        return self._listed
