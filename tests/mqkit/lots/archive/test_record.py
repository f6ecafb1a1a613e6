"""Messages as JSON, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.lots.archive.record import Record, from_json, to_json
from mqkit.message import Delivery, Properties
from mqkit.transport.native.exact import from_octets, octets_of
from mqkit.wire import Properties as WireProperties
from mqkit.wire import encode_table

short = st.text(st.characters(codec="utf-8"), max_size=60)
tables = st.dictionaries(short, st.integers(-9, 9) | short | st.binary(max_size=9), max_size=4)
wires = st.builds(
    WireProperties,
    content_type=st.none() | short,
    headers=st.none() | tables,
    delivery_mode=st.none() | st.integers(0, 255),
    priority=st.none() | st.integers(0, 255),
    expiration=st.none() | short,
    message_id=st.none() | short,
    timestamp=st.none() | st.integers(0, 2**50),
    cluster_id=st.none() | short,
)


def record(octets: bytes, body: bytes = b"", exchange: str = "e", key: str = "k") -> Record:
    return Record(exchange, key, body, from_octets(octets))


@given(wires, st.binary(), short, short)
def test_every_message_is_the_same_again(
    wire: WireProperties, body: bytes, exchange: str, key: str
) -> None:
    made = record(octets_of(wire), body, exchange, key)
    line = to_json(made)
    assert b"\n" not in line
    assert from_json(line) == made
    assert from_json(to_json(made, with_body=False), body) == made


@given(st.binary(max_size=60))
def test_properties_that_nobody_can_read_are_kept_as_octets(octets: bytes) -> None:
    assert from_json(to_json(record(octets))).properties.octets == octets


def test_two_headers_of_one_name_are_both_kept() -> None:
    entry = encode_table({"a": 1})[4:] + encode_table({"a": 2})[4:]
    octets = (1 << 13).to_bytes(2, "big") + len(entry).to_bytes(4, "big") + entry
    line = to_json(record(octets))
    assert "properties_base64" in json.loads(line)
    assert from_json(line).properties.octets == octets


def test_a_line_can_be_read_by_people() -> None:
    wire = WireProperties(headers={"n": 1}, delivery_mode=2, message_id="m", timestamp=5)
    assert json.loads(to_json(record(octets_of(wire), "ü".encode()))) == {
        "exchange": "e",
        "routing_key": "k",
        "properties": {"delivery_mode": 2, "message_id": "m", "timestamp": 5},
        "headers": {"n": 1},
        "body": "ü",
    }
    assert json.loads(to_json(record(b"\0\0", b"\xff")))["body_base64"] == "/w=="


def test_a_name_that_is_no_utf_8_is_kept() -> None:
    made = record(b"\0\0", b"", "\udcff", "\udc80")
    assert from_json(to_json(made)) == made


def test_a_delivery_without_exact_properties_has_the_types_that_it_would_be_sent_with() -> None:
    properties = Properties(headers={"n": 1}, message_id="m", expiration_ms=5)
    delivery = Delivery("e", "k", b"x", properties, 1, redelivered=False)
    made = from_json(to_json(Record.of(delivery)))
    assert made.properties.message_id == "m"
    assert (made.properties.headers, made.properties.expiration_ms) == ({"n": 1}, 5)


@pytest.mark.parametrize(
    "changed",
    [
        {"exchange": 5},
        {"routing_key": None},
        {"body": 5},
        {"body": None, "body_base64": "?"},
        {"body": None, "body_base64": 5},
        {"properties": []},
        {"properties": {"whatever": "x"}},
        {"properties": {"priority": "x"}},
        {"properties": {"priority": True}},
        {"properties": {"priority": 256}},
        {"properties": {"message_id": 5}},
        {"properties": {"message_id": "x" * 256}},
        {"properties_base64": "?"},
        {"headers": 5},
        {"headers": {"h": 2**64}},
        {"headers": {"h" * 256: 1}},
    ],
    ids=str,
)
def test_a_line_of_something_else_is_refused(changed: dict[str, Any]) -> None:
    good = json.loads(to_json(record(octets_of(WireProperties(headers={"n": 1})))))
    assert from_json(json.dumps(good).encode())
    with pytest.raises(ValueError):
        from_json(json.dumps({**good, **changed}).encode())
