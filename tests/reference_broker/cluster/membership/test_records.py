"""records: what is written can be read, and what can't be is named."""

from __future__ import annotations

import json

import pytest

from reference_broker.cluster.membership.records import (
    ClusterRecord,
    LiveRecord,
    MemberRecord,
    NodeState,
    decoded,
    encoded,
)
from reference_broker.errors import Corrupt

RECORDS = [
    ClusterRecord("c1", 1, "f00", 1_700_000_000_000),
    MemberRecord(3, "d1", 7, "s1", 812, "127.0.0.1:5672", "127.0.0.1:15672"),
    LiveRecord(7, NodeState.DRAINING, "127.0.0.1:25672"),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_it_comes_back(record: ClusterRecord | MemberRecord | LiveRecord) -> None:
    assert decoded(type(record), "k", encoded(record)) == record  # type: ignore[type-var]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_field_of_a_later_version_is_passed_over(
    record: ClusterRecord | MemberRecord | LiveRecord,
) -> None:
    later = {**json.loads(encoded(record)), "colour": "blue"}
    value = json.dumps(later).encode()
    assert decoded(type(record), "k", value) == record  # type: ignore[type-var]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff",
        b"[]",
        b"3",
        b'{"run":7,"state":"up"}',
        b'{"run":"7","state":"up","link":"x"}',
        b'{"run":true,"state":"up","link":"x"}',
        b'{"run":7,"state":"away","link":"x"}',
    ],
)
def test_what_is_no_record_is_named(value: bytes) -> None:
    with pytest.raises(Corrupt, match="'live/a' in etcd can't be read"):
        decoded(LiveRecord, "live/a", value)
