"""The header of a first death, octet for octet what the decoding way makes of the message."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import (
    MAX_TABLE_ITEMS,
    Properties,
    Typed,
    decode_header,
    encode_header,
    encode_table,
)
from reference_broker.core.dead_letter.first_death_header import (
    HISTORY_VALUES,
    FirstDeath,
    first_death,
    pieces_of,
    with_first_death,
)
from reference_broker.core.dead_letter.x_death import with_x_death
from reference_broker.core.message.header import read_facts
from reference_broker.core.queue.death import DeathReason

WALL_MS = 1_700_000_000_999
QUEUE = "queue \N{SNOWMAN}"
BYTES_MAX = 131_064


def dying(
    reason: DeathReason = DeathReason.EXPIRED, exchange: bytes = b"x", key: bytes = b"k"
) -> FirstDeath:
    return first_death(pieces_of(QUEUE, reason, exchange), WALL_MS, key)


def quick(
    header: bytes,
    reason: DeathReason = DeathReason.EXPIRED,
    exchange: bytes = b"x",
    key: bytes = b"k",
) -> bytes | None:
    first = with_first_death(header, dying(reason, exchange, key), BYTES_MAX)
    return None if first is None else first.header


def decoded(
    header: bytes,
    reason: DeathReason = DeathReason.EXPIRED,
    exchange: bytes = b"x",
    key: bytes = b"k",
) -> bytes:
    return with_x_death(
        header,
        queue=QUEUE,
        reason=reason,
        wall_ms=WALL_MS,
        exchange=exchange,
        routing_key=key,
        keep_cc=True,
    )


short = st.text(alphabet="abc-x\N{SNOWMAN}", max_size=9)
values = st.recursive(
    st.none() | st.booleans() | short | st.binary(max_size=9) | st.integers(-(2**40), 2**40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(short, inner, max_size=3),
    max_leaves=6,
)
properties = st.builds(
    Properties,
    content_type=st.none() | short,
    content_encoding=st.none() | short,
    headers=st.none() | st.dictionaries(short, values, max_size=4),
    delivery_mode=st.none() | st.integers(0, 255),
    priority=st.none() | st.integers(0, 255),
    correlation_id=st.none() | short,
    reply_to=st.none() | short,
    expiration=st.none() | st.integers(0, 10**9).map(str),
    message_id=st.none() | short,
    timestamp=st.none() | st.just(datetime(2026, 1, 1, tzinfo=UTC)),
    type=st.none() | short,
    user_id=st.none() | short,
    app_id=st.none() | short,
    cluster_id=st.none() | short,
)


def may_have_died(properties: Properties) -> bool:
    """True if the headers hold the octets of a mark, be it in a name, a value or a number: such a
    message is left to decoding, on purpose."""
    table = encode_table(properties.headers or {})
    return b"-death" in table or b"CC" in table


fresh_properties = properties.filter(lambda drawn: not may_have_died(drawn))


@given(
    fresh_properties,
    st.sampled_from(DeathReason),
    st.binary(max_size=255),
    st.binary(max_size=255),
)
def test_it_is_what_decoding_makes_of_it(
    properties: Properties, reason: DeathReason, exchange: bytes, key: bytes
) -> None:
    header = encode_header(1234, properties)
    assert quick(header, reason, exchange, key) == decoded(header, reason, exchange, key)


@given(fresh_properties)
def test_what_a_queue_needs_of_it_is_what_reading_it_would_find(properties: Properties) -> None:
    first = with_first_death(encode_header(9, properties), dying(), BYTES_MAX)
    assert first is not None
    facts = first.facts
    read = read_facts(first.header)
    assert (facts.persistent, facts.priority) == (read.persistent, read.priority)
    assert facts.expiration_ms is read.expiration_ms is None
    assert (facts.has_headers, read.has_headers) == (True, True)


@pytest.mark.parametrize(
    "table",
    [
        {"x-death": [{"queue": "q", "reason": "expired", "count": Typed("l", 1)}]},
        {"x-death": "no array"},
        {"x-first-death-queue": "elsewhere"},
        {"a": 1, "x-last-death-reason": "expired"},
        {"CC": ["one", "two"]},
    ],
)
def test_what_has_died_before_or_has_more_keys_is_left_to_decoding(table: dict[str, Any]) -> None:
    assert quick(encode_header(0, Properties(headers=table))) is None


@pytest.mark.parametrize("value", [b"-death", b"CC", 0x4343, [b"a-death"], {"in": "CC"}])
def test_the_octets_of_a_mark_in_a_value_leave_the_message_to_decoding(value: Any) -> None:
    """The quick way doesn't tell names from values; it asks for decoding once too often."""
    drawn = Properties(headers={"": value})
    assert may_have_died(drawn)
    assert quick(encode_header(0, drawn)) is None


def test_a_table_that_cannot_be_read_is_left_to_decoding() -> None:
    good = encode_header(0, Properties(headers={"a": 1}, app_id="me"))
    assert quick(good) is not None
    assert quick(good.replace(b"\x01aI", b"\x01a!")) is None


def test_marks_outside_of_the_headers_mean_nothing() -> None:
    header = encode_header(0, Properties(headers={"a": 1}, message_id="CC-death", app_id="x-death"))
    assert quick(header) == decoded(header)


def test_a_second_death_counts_on_from_a_first_one() -> None:
    first = quick(encode_header(0, Properties()))
    assert first is not None
    assert quick(first) is None
    assert b"\x05countl\0\0\0\0\0\0\0\x02" in decoded(first)


def test_a_history_that_would_not_fit_is_left_to_others() -> None:
    header = encode_header(0, Properties(headers={"a": 1}, expiration="5"))
    fits = with_first_death(header, dying(), BYTES_MAX)
    assert fits is not None
    size = len(fits.header)
    assert with_first_death(header, dying(), size) == fits
    assert with_first_death(header, dying(), size - 1) is None


@pytest.mark.parametrize("spare", [HISTORY_VALUES - 1, HISTORY_VALUES])
def test_a_table_with_too_many_values_for_a_history_is_left_to_others(spare: int) -> None:
    values = [None] * (MAX_TABLE_ITEMS - 1 - spare)
    made = quick(encode_header(0, Properties(headers={"a": values}, expiration="5")))
    if spare < HISTORY_VALUES:
        assert made is None
    else:
        assert made is not None
        decode_header(made)
