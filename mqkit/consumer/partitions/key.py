"""The key by which messages are kept in order."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.message import Delivery

PartitionBy: TypeAlias = str | Callable[[Delivery], Hashable]
"""A field of the JSON body, or a function of the delivery. ``None`` is no key."""

KeyOf: TypeAlias = Callable[[Delivery], Hashable]


def key_of(partition_by: PartitionBy) -> KeyOf:
    """The function that finds the key. Raises :exc:`~mqkit.errors.ConfigurationError` for what is
    neither a name nor a function."""
    if isinstance(partition_by, str) and partition_by:
        field = partition_by
        return lambda delivery: _field(delivery, field)
    if not isinstance(partition_by, str) and callable(partition_by):
        return partition_by
    raise ConfigurationError(
        f"partition_by={partition_by!r:.80}: expected the name of a field of the JSON body, or a"
        " function of the Delivery"
    )


def _field(delivery: Delivery, field: str) -> Hashable:
    """The field's text or number; ``None`` where there is none."""
    from mqkit.json_body.field import field_of

    value = field_of(delivery.body, field)
    return value if isinstance(value, (str, int, float)) else None
