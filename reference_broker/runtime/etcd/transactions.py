"""Transactions, between the port's values and the JSON of ``/v3/kv/txn``."""

from __future__ import annotations

from typing import Any

from reference_broker.cluster.coordinator import (
    CHANGES_MAX,
    Compare,
    Delete,
    Lost,
    Put,
    Transaction,
    Won,
)
from reference_broker.runtime.etcd.fields import Message, header_revision, key_field, octets_field


def transaction_request(transaction: Transaction) -> dict[str, Any]:
    """The request that carries out ``transaction``."""
    assert len(transaction.compares) <= CHANGES_MAX
    assert len(transaction.changes) <= CHANGES_MAX
    return {
        "compare": [_compare(each) for each in transaction.compares],
        "success": [_change(each) for each in transaction.changes],
    }


def transaction_outcome(answer: Message) -> Won | Lost:
    """The outcome that etcd answers. Raises :exc:`~fields.BadAnswer`."""
    revision = header_revision(answer)
    return Won(revision) if answer.get("succeeded") is True else Lost(revision)


def _compare(compare: Compare) -> dict[str, str]:
    # A key that is not there was last written at revision 0, for etcd too.
    return {
        "key": key_field(compare.key),
        "target": "MOD",
        "result": "EQUAL",
        "mod_revision": str(compare.revision),
    }


def _change(change: Put | Delete) -> dict[str, dict[str, str]]:
    if isinstance(change, Delete):
        return {"request_delete_range": {"key": key_field(change.key)}}
    put = {"key": key_field(change.key), "value": octets_field(change.value)}
    if change.lease:
        put["lease"] = str(change.lease)
    return {"request_put": put}
