"""The order in which members are tried."""

from __future__ import annotations

from reference_broker.runtime.etcd.config import Endpoint
from reference_broker.runtime.etcd.endpoints import Endpoints

A, B, C = (Endpoint(name, 2379) for name in "abc")


def test_the_one_that_answered_last_is_first_and_the_one_that_failed_last_is_last() -> None:
    endpoints = Endpoints((A, B, C))
    assert endpoints.in_turn() == (A, B, C)
    endpoints.failed(A)
    assert endpoints.in_turn() == (B, C, A)
    endpoints.answered(C)
    assert endpoints.in_turn() == (C, B, A)
    endpoints.answered(C)
    assert endpoints.in_turn() == (C, B, A)


def test_one_that_is_avoided_comes_last_this_time() -> None:
    endpoints = Endpoints((A, B, C))
    assert endpoints.in_turn(avoid=A) == (B, C, A)
    assert endpoints.in_turn() == (A, B, C)
    assert Endpoints((A,)).in_turn(avoid=A) == (A,)
