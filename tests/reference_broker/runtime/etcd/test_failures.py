"""The fate of requests by what etcd said of them: certain is only what is certain."""

from __future__ import annotations

import json

import pytest

from reference_broker.cluster.coordinator import InDoubt, Refused, Unread
from reference_broker.runtime.etcd.failures import (
    REASON_CHARACTERS_MAX,
    Fate,
    GatewayFailure,
    error_failure,
    failure_of,
    fate_of,
    one_line,
    outcome_of,
    unread_of,
)
from reference_broker.runtime.etcd.fields import BadAnswer


@pytest.mark.parametrize(
    ("code", "words", "fate"),
    [
        (3, "etcdserver: too many operations in txn request", Fate.REFUSED),
        (3, "etcdserver: request is too large", Fate.REFUSED),
        (3, "etcdserver: authentication failed, invalid user ID or password", Fate.REFUSED),
        (5, "etcdserver: requested lease not found", Fate.REFUSED),
        (7, "etcdserver: permission denied", Fate.REFUSED),
        (8, "etcdserver: mvcc: database space exceeded", Fate.FULL),
        (8, "etcdserver: too many requests", Fate.ELSEWHERE),
        (11, "etcdserver: mvcc: required revision has been compacted", Fate.COMPACTED),
        (11, "etcdserver: mvcc: required revision is a future revision", Fate.REFUSED),
        (16, "etcdserver: invalid auth token", Fate.TOKEN),
        (3, "etcdserver: revision of auth store is old", Fate.TOKEN),
        (14, "etcdserver: no leader", Fate.ELSEWHERE),
        (14, "etcdserver: request timed out", Fate.UNKNOWN),
        (
            14,
            "etcdserver: request timed out, possibly due to previous leader failure",
            Fate.UNKNOWN,
        ),
        (14, "etcdserver: leader changed", Fate.UNKNOWN),
        (14, "etcdserver: server stopped", Fate.UNKNOWN),
        (14, "transport is closing", Fate.UNKNOWN),
        (4, "context deadline exceeded", Fate.UNKNOWN),
        (2, "raft: proposal dropped", Fate.UNKNOWN),
        (13, "anything", Fate.UNKNOWN),
        (0, "", Fate.UNKNOWN),
    ],
)
def test_only_what_was_not_carried_out_is_certain(code: int, words: str, fate: Fate) -> None:
    assert fate_of(code, words) is fate
    outcome = outcome_of(GatewayFailure("r", fate))
    refused = Refused("r", lasting=fate is Fate.REFUSED)
    assert outcome == (InDoubt("r") if fate is Fate.UNKNOWN else refused)
    assert unread_of(GatewayFailure("r", fate)) == Unread("r", fate is Fate.COMPACTED)


def test_an_error_of_the_gateway_is_read_in_both_of_its_shapes() -> None:
    words = "etcdserver: permission denied"
    unary = failure_of(403, json.dumps({"error": words, "message": words, "code": 7}).encode())
    assert (unary.reason, unary.fate) == (words, Fate.REFUSED)
    streamed = error_failure({"grpc_code": 7, "http_code": 403, "message": words})
    assert (streamed.reason, streamed.fate) == (words, Fate.REFUSED)


@pytest.mark.parametrize(
    ("status", "body", "fate"),
    [
        (404, b"Not Found", Fate.ELSEWHERE),
        (400, b"Client sent an HTTP request to an HTTPS server.", Fate.ELSEWHERE),
        (404, b"{}", Fate.ELSEWHERE),
        (503, b"", Fate.UNKNOWN),
        (502, b"<html>\n\x1b[31mbad gateway", Fate.UNKNOWN),
        (302, b"", Fate.UNKNOWN),
    ],
)
def test_an_answer_that_is_not_etcds(status: int, body: bytes, fate: Fate) -> None:
    failure = failure_of(status, body)
    assert failure.fate is fate
    assert failure.reason.startswith(f"there is no etcd: it answered {status}, ")
    assert failure.reason.isprintable()


def test_an_error_without_words_is_none() -> None:
    with pytest.raises(BadAnswer):
        error_failure({"code": 3})


def test_the_words_of_others_fit_into_a_line() -> None:
    assert one_line("a\r\nb\x00\x1b c") == "a b c"
    assert len(one_line("x" * 10_000)) == REASON_CHARACTERS_MAX
