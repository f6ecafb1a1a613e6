"""The rows that a relay reads, on either database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, select, text

from mqkit.outbox.partition import PARTITIONS
from mqkit.outbox.tables import OutboxRow
from mqkit.outbox.window import Window, read_window

ALL = range(PARTITIONS)
Put = Callable[..., list[int]]


def read(engine: Engine, partitions: Any = ALL, **bounds: int) -> Window:
    with engine.begin() as connection:
        return read_window(partitions, connection, **bounds)


def ids(window: Window) -> list[int]:
    return [row["id"] for row in window.rows]


def states(engine: Engine) -> list[str]:
    with engine.begin() as connection:
        return list(connection.execute(select(OutboxRow.state).order_by(OutboxRow.id)).scalars())


def test_rows_come_in_the_order_of_their_ids_and_of_their_partitions_only(
    plain: Engine, put: Put
) -> None:
    written = put("a", "b", "c", "a", "b")
    assert ids(read(plain)) == written
    row = read(plain).rows[0]
    assert (row["ordering_key"], row["body"], row["state"]) == ("a", b"12345678", "waiting")
    assert ids(read(plain, [row["partition"]])) == [written[0], written[3]]
    assert ids(read(plain, sorted({each["partition"] for each in read(plain).rows}))) == written
    assert read(plain, []) == Window(())


def test_a_window_is_bounded_in_rows_and_in_octets_and_has_one_row_at_least(
    plain: Engine, put: Put
) -> None:
    written = put(*["key"] * 10)
    partition = read(plain).rows[0]["partition"]
    assert ids(read(plain, [partition], rows_max=3)) == written[:3]
    assert ids(read(plain, [partition], octets_max=16)) == written[:2]
    assert ids(read(plain, [partition], octets_max=1)) == written[:1]


def test_a_row_that_commits_late_is_read_whatever_its_number(plain: Engine, put: Put) -> None:
    first, second = put("late", "early")
    with plain.begin() as connection:  # as if its transaction were not committed yet
        connection.execute(text(f"UPDATE mqkit_outbox SET state = 'unseen' WHERE id = {first}"))
    assert ids(read(plain)) == [second]
    with plain.begin() as connection:
        connection.execute(text(f"DELETE FROM mqkit_outbox WHERE id = {second}"))
        connection.execute(text("UPDATE mqkit_outbox SET state = 'waiting'"))
    assert ids(read(plain)) == [first]


def test_rows_behind_a_stopped_one_are_set_aside_once_and_no_others(
    plain: Engine, put: Put
) -> None:
    put("bad", state="stopped")
    put("bad", "good", None, "bad")
    window = read(plain)
    assert (len(window.rows), window.held, window.is_empty) == (2, 2, False)
    assert states(plain) == ["stopped", "held", "waiting", "waiting", "held"]
    assert read(plain).held == 0


def test_a_window_of_held_rows_only_is_not_empty(plain: Engine, put: Put) -> None:
    put("bad", state="stopped")
    put("bad")
    window = read(plain)
    assert (window.rows, window.is_empty) == ((), False)
    assert read(plain).is_empty
