"""The key by which a message is known again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from mqkit.lots.archive.identity import KEY_OCTETS, key_of, name_of
from mqkit.lots.archive.record import Record
from mqkit.transport.native.exact import from_octets, octets_of
from mqkit.wire import Properties as WireProperties

PARKED = {"x-mqkit-parked-at": "2025-01-02T00:00:00+00:00"}


def record(body: bytes = b"x", exchange: str = "e", **properties: Any) -> Record:
    return Record(exchange, "k", body, from_octets(octets_of(WireProperties(**properties))))


def test_an_id_and_a_time_of_parking_are_enough() -> None:
    first = key_of(record(message_id="m", headers=PARKED))
    assert len(first) == KEY_OCTETS
    assert key_of(record(b"y", message_id="m", headers={**PARKED, "more": 1})) == first
    assert key_of(record(message_id="n", headers=PARKED)) != first
    later = {"x-mqkit-parked-at": "2025-01-02T00:00:01+00:00"}
    assert key_of(record(message_id="m", headers=later)) != first
    death = {"x-death": [{"time": datetime(2025, 1, 1, 23, 59, 59, tzinfo=UTC)}]}
    assert key_of(record(message_id="m", headers=death)) == first


def test_without_both_all_of_it_counts_but_its_way() -> None:
    first = key_of(record(message_id="m"))
    assert key_of(record(message_id="m", exchange="other")) == first
    assert key_of(record(b"y", message_id="m")) != first
    assert key_of(record(message_id="m", priority=1)) != first
    assert key_of(record(headers=PARKED)) != key_of(record(b"y", headers=PARKED))


def test_the_count_of_deliveries_changes_nothing() -> None:
    counted = {"x-delivery-count": 2}
    assert key_of(record(headers=counted)) == key_of(record())
    assert key_of(record(headers={"a": 1, **counted})) == key_of(record(headers={"a": 1}))


def test_properties_that_nobody_can_read_count_as_octets() -> None:
    broken = [Record("", "k", b"", from_octets(octets)) for octets in (b"\xff\xff", b"\xff\xf8")]
    assert len({key_of(each) for each in broken}) == 2


def test_a_name_is_the_id_or_a_digest() -> None:
    assert name_of(record(message_id="m")) == "m"
    assert name_of(record(b"")) == "sha256:e3b0c44298fc1c14 (no id)"
