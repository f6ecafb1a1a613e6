"""``Batch``, the argument of a batch handler: items, and a signal (retry, park) for some of
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Generic, TypeVar, overload

from mqkit.errors import ConfigurationError
from mqkit.message import Delivery
from mqkit.retry.signals import Park, RetryLater, Signal

ItemT = TypeVar("ItemT")


class Batch(Sequence[ItemT], Generic[ItemT]):
    """A sequence of what the handler asked for: ``Batch[Model]``, ``Batch[bytes]``, and
    deliveries for a plain ``Batch``.

    Whatever is not named to :meth:`retry` or :meth:`park` is acked when the handler returns.
    """

    def __init__(self, items: Sequence[ItemT], deliveries: Sequence[Delivery]) -> None:
        self._items = tuple(items)
        self.deliveries = tuple(deliveries)
        """The messages of the items, in the same order."""
        self._signals: list[Signal | None] = [None] * len(self._items)

    def retry(
        self, item: ItemT | Delivery, after: str | timedelta | None = None, reason: str = ""
    ) -> None:
        """Deliver this one again, as ``RetryLater(after, reason)`` would.

        ``item`` is an item of this batch, or a delivery of it. Raises :exc:`ConfigurationError` for
        anything else, and for an object that stands at several places (small numbers and short
        texts do): name the delivery then, ``deliveries[i]``.
        """
        self._mark(item, RetryLater(after, reason))

    def park(self, item: ItemT | Delivery, reason: str = "") -> None:
        """Put this one into the parking lot, as ``Park(reason)`` would. ``item`` as for
        :meth:`retry`."""
        self._mark(item, Park(reason))

    @property
    def signals(self) -> tuple[Signal | None, ...]:
        """The signal raised for each item, in order; ``None`` means ack."""
        return tuple(self._signals)

    @overload
    def __getitem__(self, index: int) -> ItemT: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ItemT]: ...
    def __getitem__(self, index: int | slice) -> ItemT | Sequence[ItemT]:
        return self._items[index]

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        """Positions by ``id()`` of item and delivery. Made at the first mark: most batches have
        none."""
        places: dict[int, list[int]] = {}
        for index, pair in enumerate(zip(self._items, self.deliveries, strict=True)):
            for key in {id(member): None for member in pair}:
                places.setdefault(key, []).append(index)
        return places

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ItemT]:
        return iter(self._items)

    def _mark(self, item: ItemT | Delivery, signal: Signal) -> None:
        """The last word on an item counts. An item is known by its identity, for equal ones may
        stand for different messages; an object that stands for several (Python shares small values)
        says not which message is meant."""
        places = self._places.get(id(item))
        if not places:
            raise ConfigurationError("that is not an item, or a delivery, of this batch")
        if len(places) > 1:
            raise ConfigurationError(
                f"{item!r:.80} is one object at {len(places)} places of this batch, and only one of"
                " the messages is meant: name its delivery, batch.deliveries[i]"
            )
        self._signals[places[0]] = signal
