"""Transactions as requests, and their outcomes."""

from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import (
    CHANGES_MAX,
    Compare,
    Delete,
    Lost,
    Put,
    Transaction,
    Won,
)
from reference_broker.runtime.etcd.fields import BadAnswer
from reference_broker.runtime.etcd.transactions import transaction_outcome, transaction_request


def test_compares_are_of_the_revision_and_changes_are_in_order() -> None:
    transaction = Transaction(
        (Compare("a", 0), Compare("b", 2**62)),
        (Put("a", b"1"), Put("c", b"", lease=9), Delete("b")),
    )
    compare = {"target": "MOD", "result": "EQUAL"}
    assert transaction_request(transaction) == {
        "compare": [
            {"key": "YQ==", "mod_revision": "0", **compare},
            {"key": "Yg==", "mod_revision": "4611686018427387904", **compare},
        ],
        "success": [
            {"request_put": {"key": "YQ==", "value": "MQ=="}},
            {"request_put": {"key": "Yw==", "value": "", "lease": "9"}},
            {"request_delete_range": {"key": "Yg=="}},
        ],
    }


def test_an_answer_that_does_not_say_succeeded_is_lost() -> None:
    header = {"header": {"revision": "5"}}
    assert transaction_outcome({**header, "succeeded": True}) == Won(5)
    assert transaction_outcome(header) == Lost(5)


def test_an_answer_without_a_revision_is_none() -> None:
    with pytest.raises(BadAnswer):
        transaction_outcome({"succeeded": True})


def test_more_than_etcd_takes_is_a_mistake_of_ours() -> None:
    changes = tuple(Put(str(n), b"") for n in range(CHANGES_MAX + 1))
    with pytest.raises(AssertionError):
        transaction_request(Transaction((), changes))
    with pytest.raises(AssertionError):
        transaction_request(Transaction(tuple(Compare(each.key, 0) for each in changes), ()))
