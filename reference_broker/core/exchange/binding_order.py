"""The bindings of an exchange that picks one of them by its number."""

from __future__ import annotations

from reference_broker.core.exchange.binding import Binding, BindingIdentity


class BindingOrder:
    """Bindings, oldest first; the list is made anew at the first look after a change."""

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
