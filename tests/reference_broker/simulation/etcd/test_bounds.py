from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import Compare, Delete, Put, Transaction
from reference_broker.simulation.etcd.bounds import (
    DUPLICATE_KEY,
    NO_KEY,
    OPERATIONS_MAX,
    REQUEST_BYTES_MAX,
    TOO_LARGE,
    TOO_MANY,
    octets,
    refusal,
)

COMPARES = tuple(Compare(f"k{number}", 0) for number in range(OPERATIONS_MAX + 1))
PUTS = tuple(Put(f"k{number}", b"") for number in range(OPERATIONS_MAX + 1))


@pytest.mark.parametrize(
    ("transaction", "reason"),
    [
        (Transaction((), ()), ""),
        (Transaction(COMPARES[1:], PUTS[1:]), ""),
        (Transaction(COMPARES, ()), TOO_MANY),
        (Transaction((), PUTS), TOO_MANY),
        (Transaction((Compare("", 0),), ()), NO_KEY),
        (Transaction((), (Delete(""),)), NO_KEY),
        (Transaction((), (Put("k", b""), Put("k", b""))), DUPLICATE_KEY),
        (Transaction((), (Delete("k"), Put("k", b""))), DUPLICATE_KEY),
        (Transaction((), (Delete("k"), Delete("k"))), ""),
        (Transaction((), (Put("k", bytes(REQUEST_BYTES_MAX)),)), TOO_LARGE),
    ],
    ids=lambda part: part if isinstance(part, str) else "transaction",
)
def test_it_refuses_as_etcd_does(transaction: Transaction, reason: str) -> None:
    assert refusal(transaction) == reason


def test_octets_of_keys_are_counted_encoded() -> None:
    assert octets(Transaction((Compare("é", 1),), (Put("k", b"12"), Delete("é")))) == 2 + 3 + 2
