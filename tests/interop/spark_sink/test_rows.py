"""The rows, and the ids that they must have."""

from __future__ import annotations

from interop.spark_sink.rows import (
    BODY_CHARACTERS,
    PARTITIONS,
    ROWS,
    ROWS_OF_FILE,
    ROWS_OF_PARTITION,
    Row,
    bodies,
    body,
    expected,
    text_of_file,
)


def test_a_key_is_that_of_the_row() -> None:
    found = expected("column", "job")
    assert len(found) == ROWS
    assert found["key-1203"] == Row(body(1203), 1203 // ROWS_OF_PARTITION)


def test_an_automatic_id_is_job_partition_and_place() -> None:
    found = expected("auto", "job")
    assert len(found) == ROWS
    assert found["job/0/0"] == Row(body(0), 0)
    last = PARTITIONS - 1
    assert found[f"job/{last}/{ROWS_OF_PARTITION - 1}"] == Row(body(ROWS - 1), last)


def test_no_two_rows_have_one_body() -> None:
    assert len({row.body for row in expected("auto", "job").values()}) == ROWS
    assert len(body(7)) == BODY_CHARACTERS


def test_files_have_the_rows_one_after_the_other() -> None:
    lines = (text_of_file(0) + text_of_file(1)).splitlines()
    assert lines == list(bodies(2 * ROWS_OF_FILE).values())
