"""mqkit_spark.columns.contents: properties of many messages, each kind decoded once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mqkit.transport.native.exact import from_octets, octets_of
from mqkit.wire import Properties
from mqkit.wire.strings import LENIENT
from mqkit_spark.columns.contents import read


def octets(**properties: Any) -> bytes:
    return octets_of(Properties(**properties))


OTHERS: list[dict[str, Any]] = [
    {},
    {"delivery_mode": 2},
    {"content_type": "t", "app_id": "m"},
    {"headers": {"n": 5}, "priority": 3},
    {"timestamp": datetime(2026, 1, 1, tzinfo=UTC), "expiration": "60000"},
    {"correlation_id": "1", "cluster_id": "c"},
]
BROKEN = [b"", b"\x90", b"\x90\x00", b"\xff\xff\xff", octets(message_id="m")[:-1], b"\0\x80\x09m"]
IDS = st.sampled_from(
    [None, "", "m", "n", "m1", "mm", "é", "\udcff", "\udced\udca0\udc80", "i" * 255]
)
SENT = st.one_of(
    st.builds(lambda other, name: octets(**other, message_id=name), st.sampled_from(OTHERS), IDS),
    st.sampled_from(BROKEN),
    st.binary(max_size=12),
)


@given(st.lists(SENT, max_size=12))
def test_it_is_what_each_message_says_by_itself(sent: list[bytes]) -> None:
    contents = read(sent)
    assert len(contents.kind_of) == len(contents.message_ids) == len(sent)
    for each, kind, message_id in zip(sent, contents.kind_of, contents.message_ids, strict=True):
        alone = from_octets(each)
        text = None if message_id is None else str(message_id, "utf-8", LENIENT)
        assert text == alone.message_id
        found = contents.kinds[kind]
        assert replace(found, message_id=text, octets=each) == alone


def test_messages_that_differ_in_their_id_are_of_one_kind() -> None:
    for other in OTHERS:
        sent = [octets(**other, message_id=f"{number}") for number in range(8, 12)]
        contents = read(sent)
        assert len(contents.kinds) == 1
        assert contents.message_ids == [b"8", b"9", b"10", b"11"]


def test_kinds_that_take_turns_are_kept() -> None:
    sent = [octets(type=kind, message_id=kind * 2) for kind in "abab"] + [octets()] * 2
    contents = read(sent)
    assert contents.kind_of == [0, 1, 0, 1, 2, 2]
    assert contents.message_ids == [b"aa", b"bb", b"aa", b"bb", None, None]
