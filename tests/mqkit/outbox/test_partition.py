"""The partition of a row."""

from __future__ import annotations

from mqkit.outbox.partition import PARTITIONS, partition_of


def test_the_number_is_that_of_every_release() -> None:
    assert [partition_of(key, "m") for key in ("customer-7", "", "ü")] == [8, 0, 21]


def test_a_row_without_a_key_has_that_of_its_id_and_all_are_used() -> None:
    found = {partition_of(None, f"message-{number}") for number in range(2_000)}
    assert found == set(range(PARTITIONS))
    assert partition_of("key", "a") == partition_of("key", "b")
