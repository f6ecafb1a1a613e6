"""The room for a history: by octets and by values, and the oldest tables that go."""

from __future__ import annotations

from mqkit.wire import encode_table
from reference_broker.core.dead_letter.header_room import (
    COPY_VALUE_BYTES,
    SPARE_PART,
    VALUE_BYTES,
    newest_that_fit,
    room_of,
)

TABLE = b"F" + encode_table({"queue": "q"})
SIZE = len(TABLE)


def test_the_smaller_bound_counts() -> None:
    assert room_of(100, 1_000, has_copies=False) == 100
    assert room_of(100, 10, has_copies=False) == 10 * VALUE_BYTES
    assert room_of(100, 10, has_copies=True) == 10 * COPY_VALUE_BYTES
    assert room_of(-1, 10, has_copies=True) < 0
    assert room_of(10, -1, has_copies=True) < 0


def test_a_part_of_the_room_is_free_afterwards() -> None:
    older, dropped = newest_that_fit(TABLE * 100, SIZE, 41 * SIZE)
    assert older == TABLE * dropped_rest(dropped)
    assert len(older) + SIZE <= 41 * SIZE * (SPARE_PART - 1) / SPARE_PART
    assert len(older) + 2 * SIZE > 41 * SIZE * (SPARE_PART - 1) / SPARE_PART


def dropped_rest(dropped: int) -> int:
    return 100 - dropped


def test_without_room_all_go_and_are_counted() -> None:
    assert newest_that_fit(TABLE * 3, SIZE, SIZE) == (b"", 3)
    assert newest_that_fit(TABLE * 3, SIZE, -1) == (b"", 3)
    assert newest_that_fit(b"", SIZE, -1) == (b"", 0)


def test_only_the_newest_stay_even_where_an_older_one_would_fit() -> None:
    large = b"F" + encode_table({"queue": "q" * 99})
    assert newest_that_fit(TABLE + large + TABLE, 0, 3 * SIZE) == (TABLE, 2)
