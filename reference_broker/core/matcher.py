"""Which bindings of an exchange a message goes through: the seam between exchange types, and the
two plain ones. The others are :class:`TopicTrie` and :class:`HeadersMatcher`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from reference_broker.core.binding import Binding, BindingIdentity

MessageHeaders: TypeAlias = Callable[[], Mapping[str, Any]]
"""A message's header table, decoded when somebody asks for it."""


class Matcher(Protocol):
    """The bindings of one exchange, arranged so that the matching ones are found quickly."""

    def add(self, binding: Binding) -> None:
        """``binding`` is not here yet, and its arguments suit the exchange's type."""
        ...

    def remove(self, binding: Binding) -> None:
        """``binding`` is here."""
        ...

    def match(self, routing_key: str, headers: MessageHeaders) -> Iterable[Binding]:
        """Each once, in an order that depends on nothing but the bindings."""
        ...


class FanoutMatcher:
    """Every binding matches."""

    __slots__ = ("_bindings",)

    def __init__(self) -> None:
        self._bindings: dict[BindingIdentity, Binding] = {}

    def add(self, binding: Binding) -> None:
        self._bindings[binding.identity] = binding

    def remove(self, binding: Binding) -> None:
        del self._bindings[binding.identity]

    def match(self, routing_key: str, headers: MessageHeaders) -> Iterable[Binding]:
        return self._bindings.values()


class DirectMatcher:
    """The bindings with exactly the message's routing key match."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[str, dict[BindingIdentity, Binding]] = {}

    def add(self, binding: Binding) -> None:
        self._by_key.setdefault(binding.key, {})[binding.identity] = binding

    def remove(self, binding: Binding) -> None:
        same_key = self._by_key[binding.key]
        del same_key[binding.identity]
        if not same_key:
            del self._by_key[binding.key]

    def match(self, routing_key: str, headers: MessageHeaders) -> Iterable[Binding]:
        return self._by_key.get(routing_key, {}).values()
