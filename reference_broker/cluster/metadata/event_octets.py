"""Transactions of etcd as octets, which one node sends another.

transaction   revision u64, events u32, and then these
event         octets of the key u32, octets of the value i32 (-1: the key is gone), lease u64,
              revision that created it u64, key (UTF-8), value
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from reference_broker.cluster.coordinator import Changed, Event
from reference_broker.errors import Corrupt

_TRANSACTION = Struct(">QI")
_EVENT = Struct(">IiQQ")
_GONE = -1


def encode_transactions(transactions: Iterable[Changed]) -> bytes:
    """The octets of transactions, each of whose events has its revision."""
    parts: list[bytes] = []
    for transaction in transactions:
        parts.append(_TRANSACTION.pack(transaction.revision, len(transaction.events)))
        for event in transaction.events:
            key, value = event.key.encode(), event.value
            size = _GONE if value is None else len(value)
            parts += (_EVENT.pack(len(key), size, event.lease, event.created), key, value or b"")
    return b"".join(parts)


def decode_transactions(octets: bytes) -> list[Changed]:
    """The transactions in these octets. Raises :exc:`Corrupt`."""
    transactions: list[Changed] = []
    at = 0
    while at < len(octets):
        at, revision, count = _fields(_TRANSACTION, octets, at)
        events: list[Event] = []
        for _ in range(count):
            at, event = _event(octets, at, revision)
            events.append(event)
        transactions.append(Changed(revision, tuple(events)))
    return transactions


def _event(octets: bytes, at: int, revision: int) -> tuple[int, Event]:
    at, key_size, value_size, lease, created = _fields(_EVENT, octets, at)
    if value_size < _GONE:
        raise Corrupt(f"an event whose value has {value_size} octets")
    value_at = at + key_size
    end = value_at + max(value_size, 0)
    if end > len(octets):
        raise Corrupt("an event that ends within its key or value")
    try:
        key = octets[at:value_at].decode()
    except UnicodeDecodeError as error:
        raise Corrupt(f"an event whose key is no text: {error}") from error
    value = None if value_size == _GONE else octets[value_at:end]
    return end, Event(key, value, revision, lease, created)


def _fields(layout: Struct, octets: bytes, at: int) -> tuple[int, ...]:
    """The fields at ``at``, and their end in front of them."""
    end = at + layout.size
    if end > len(octets):
        raise Corrupt("transactions that end within their fields")
    return end, *layout.unpack_from(octets, at)
