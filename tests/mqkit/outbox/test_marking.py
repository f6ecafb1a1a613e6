"""Outcomes, written down on either database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine, select

from mqkit.errors import ConfigurationError
from mqkit.outbox.marking import REASON_MAX, After, Marked, mark
from mqkit.outbox.partition import PARTITIONS
from mqkit.outbox.tables import OutboxRow, SentRow
from mqkit.outbox.window import read_window
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown

NOW = datetime(2026, 1, 2, tzinfo=UTC)
Put = Callable[..., list[int]]


def marked(engine: Engine, outcomes: dict[int, Outcome], after: After = After.DELETE) -> Marked:
    with engine.begin() as connection:
        rows = read_window(range(PARTITIONS), connection).rows
        return mark(rows, outcomes, after, NOW, connection)


def rows(engine: Engine, table: Any = OutboxRow) -> list[Any]:
    with engine.begin() as connection:
        return list(connection.execute(select(*table.__table__.columns).order_by(table.id)))


def test_what_is_confirmed_is_deleted_kept_or_moved(plain: Engine, put: Put) -> None:
    (gone,) = put("a")
    assert marked(plain, {gone: Confirmed()}).sent == 1
    assert rows(plain) == []
    (kept,) = put("a")
    marked(plain, {kept: Confirmed()}, After.KEEP)
    (row,) = rows(plain)
    assert (row.id, row.state, row.sent_at.replace(tzinfo=UTC)) == (kept, "sent", NOW)
    before = put("a", "b")
    marked(plain, dict.fromkeys(before, Confirmed()), After.MOVE)
    assert [row.id for row in rows(plain)] == [kept]
    moved = rows(plain, SentRow)
    assert [row.id for row in moved] == before
    assert (moved[0].body, moved[0].ordering_key, moved[0].octets) == (b"12345678", "a", 8)


@pytest.mark.parametrize("reason", list(RejectReason))
def test_a_refused_message_stops_unless_the_reason_may_pass(
    plain: Engine, put: Put, reason: RejectReason
) -> None:
    (row_id,) = put("a")
    counts = marked(plain, {row_id: Rejected(reason, "because\0 of\nit")})
    may_pass = reason in (RejectReason.NACKED, RejectReason.BLOCKED)
    (row,) = rows(plain)
    assert row.state == ("waiting" if may_pass else "stopped")
    assert row.reason == f"{reason}: because of it"
    assert (counts.stopped, counts.unsettled) == ((0, 1) if may_pass else (1, 0))
    assert counts.resting == ({row.partition} if may_pass else set())


def test_what_nobody_knows_waits_and_what_is_behind_it_is_left_alone(
    plain: Engine, put: Put
) -> None:
    first, _ = put("a", "a")
    counts = marked(plain, {first: Unknown("x" * 5_000)})
    assert (counts.sent, counts.stopped, counts.unsettled) == (0, 0, 1)
    assert [(row.state, len(row.reason or "")) for row in rows(plain)] == [
        ("waiting", REASON_MAX),
        ("waiting", 0),
    ]


def test_another_policy_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r'"delete", "keep", "move"$'):
        After.of("burn")
