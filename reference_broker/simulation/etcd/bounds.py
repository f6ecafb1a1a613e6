"""Requests that etcd refuses before it looks at the store, and its words for it."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Put, Transaction

OPERATIONS_MAX = 128
"""Changes of one transaction, and compares of one: etcd's default of ``--max-txn-ops``."""

REQUEST_BYTES_MAX = 1536 * 1024
"""etcd's default of ``--max-request-bytes``. It counts the encoded request; here the octets of keys
and values are counted, which are nearly all of it."""

TOO_MANY = "etcdserver: too many operations in txn request"
NO_KEY = "etcdserver: key is not provided"
DUPLICATE_KEY = "etcdserver: duplicate key given in txn request"
TOO_LARGE = "etcdserver: request is too large"


def refusal(transaction: Transaction) -> str:
    """The reason for which etcd refuses ``transaction``, or nothing where it does not."""
    compares, changes = transaction
    if max(len(compares), len(changes)) > OPERATIONS_MAX:
        return TOO_MANY
    if not all(part.key for part in (*compares, *changes)):
        return NO_KEY
    puts = [change.key for change in changes if isinstance(change, Put)]
    others = {change.key for change in changes if not isinstance(change, Put)}
    # Two deletions of one key are fine with etcd: the second finds nothing.
    if len(set(puts)) < len(puts) or not others.isdisjoint(puts):
        return DUPLICATE_KEY
    return TOO_LARGE if octets(transaction) > REQUEST_BYTES_MAX else ""


def octets(transaction: Transaction) -> int:
    """Octets of all keys and values."""
    compares, changes = transaction
    keys = sum(len(part.key.encode()) for part in (*compares, *changes))
    return keys + sum(len(change.value) for change in changes if isinstance(change, Put))
