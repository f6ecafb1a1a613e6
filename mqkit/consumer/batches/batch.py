"""``Batch``, the argument of a batch handler: items, and an outcome for some of them.

for entry in rows.entries:
    if not entry.value.is_valid:
        entry.park("no VAT id")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Generic, TypeVar, overload

from mqkit.errors import ConfigurationError
from mqkit.message import AttemptRules, Delivery, count_attempts_by
from mqkit.retry.duration import DurationText
from mqkit.retry.signals import Drop, Park, RetryLater

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Entry(Generic[ItemT]):
    """One message of a batch. Each method says what becomes of it when the handler returns; if the
    handler raises, that goes for every message of the batch instead."""

    value: ItemT
    delivery: Delivery
    _raised: list[Exception | None]
    _place: int

    def retry(self, after: DurationText | timedelta | None = None, reason: str = "") -> None:
        """Deliver it again, as ``RetryLater(after, reason)`` would."""
        self._raised[self._place] = RetryLater(after, reason)

    def park(self, reason: str = "") -> None:
        """Put it into the parking lot, as ``Park(reason)`` would."""
        self._raised[self._place] = Park(reason)

    def drop(self, reason: str = "") -> None:
        """Ack it and keep nothing, as ``Drop(reason)`` would."""
        self._raised[self._place] = Drop(reason)

    def fail(self, error: Exception) -> None:
        """Settle it as if the handler had raised ``error`` for it alone: by the queue's retry
        policy."""
        self._raised[self._place] = error


class Batch(Sequence[ItemT], Generic[ItemT]):
    """A sequence of what the handler asked for: ``Batch[Model]``, ``Batch[bytes]``, and
    deliveries for a plain ``Batch``.

    What has no outcome of its own - by its entry, or by :meth:`retry` or :meth:`park` - is acked
    when the handler returns. The last word on a message counts.
    """

    def __init__(
        self,
        items: Sequence[ItemT],
        deliveries: Sequence[Delivery],
        rules: AttemptRules | None = None,
    ) -> None:
        self._items = tuple(items)
        self._arrived = deliveries
        self._rules = rules
        self._raised: list[Exception | None] = [None] * len(self._items)

    @cached_property
    def entries(self) -> tuple[Entry[ItemT], ...]:
        """The messages by their places: values, deliveries, and an outcome for each. Equal values,
        and one object at several places, are told apart."""
        return tuple(
            Entry(value, delivery, self._raised, place)
            for place, (value, delivery) in enumerate(
                zip(self._items, self.deliveries, strict=True)
            )
        )

    @cached_property
    def deliveries(self) -> tuple[Delivery, ...]:
        """The messages of the items, in the same order."""
        if self._rules is not None:
            for delivery in self._arrived:
                count_attempts_by(self._rules, delivery)
        return tuple(self._arrived)

    def retry(
        self,
        item: ItemT | Delivery,
        after: DurationText | timedelta | None = None,
        reason: str = "",
    ) -> None:
        """Deliver this one again, as ``RetryLater(after, reason)`` would.

        ``item`` is an item of this batch, or a delivery of it. Raises :exc:`ConfigurationError` for
        anything else, and for an object that stands at several places (small numbers and short
        texts do): take its entry then, ``entries[i].retry()``.
        """
        self._mark(item, RetryLater(after, reason))

    def park(self, item: ItemT | Delivery, reason: str = "") -> None:
        """Put this one into the parking lot, as ``Park(reason)`` would. ``item`` as for
        :meth:`retry`."""
        self._mark(item, Park(reason))

    @property
    def raised(self) -> tuple[Exception | None, ...]:
        """The exception that counts as raised for each message, in order; ``None`` means ack."""
        return tuple(self._raised)

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

    def _mark(self, item: ItemT | Delivery, signal: Exception) -> None:
        """An item is known by its identity, for equal ones may stand for different messages; an
        object that stands for several (Python shares small values) says not which message is
        meant."""
        places = self._places.get(id(item))
        if not places:
            raise ConfigurationError("that is not an item, or a delivery, of this batch")
        if len(places) > 1:
            raise ConfigurationError(
                f"this {type(item).__name__} is one object at {len(places)} places of this batch,"
                " and only one of the messages is meant: name it by its place, batch.entries[i]"
            )
        self._raised[places[0]] = signal
