"""A change by hand: how it is made, what each connection can see of it, how it is taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from interop.drift.hand import Hand
from interop.drift.layout import Binding, Exchange, Queue

Act: TypeAlias = Callable[[Hand], None]
What: TypeAlias = tuple[str, str, str, str]
"""Kind, kind of object, name, field: what is told."""


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of change.

    ``amqp`` and ``management`` are what an app with that look tells. ``comes_back`` is there again
    in time, whatever the look. ``touches`` are names that may be told of besides: what is deleted
    to be declared otherwise is missing in between. ``on`` are the brokers that have it.
    """

    title: str
    do: Act
    undo: Act
    amqp: tuple[What, ...] = ()
    management: tuple[What, ...] = ()
    comes_back: tuple[Exchange | Queue | Binding, ...] = ()
    touches: tuple[str, ...] = ()
    needs_policies: bool = False
    on: tuple[str, ...] = ("reference", "rabbitmq")

    def expected(self, look: str) -> tuple[What, ...]:
        """The events that are told with ``look``: "amqp" or "management"."""
        return self.amqp if look == "amqp" else self.management


def nothing(_: Hand) -> None:
    """There is nothing to take back: the app did."""
