"""A window: the rows of some partitions that a relay has in memory, bounded in number and octets.

Rows behind a stopped one of their key are set aside (``held``) as they are met, so that a relay
does not read them again with each window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, text, union_all, update

from mqkit.outbox.state import State
from mqkit.outbox.tables import OutboxRow
from mqkit.outbox.turns import IS_WAITING

ROWS_MAX = 500
"""They share the commits, and a pass is a second's work at most."""
OCTETS_MAX = 16 * 1024 * 1024
"""Of bodies. One row may be larger, and is a window alone."""

COLUMNS = tuple(column for column in OutboxRow.__table__.columns if column.name != "sent_at")


@dataclass(frozen=True, slots=True)
class Window:
    """``rows`` in the order of their ids, by the names of their columns; ``held`` is the number of
    rows that were set aside."""

    rows: Sequence[Mapping[str, Any]]
    held: int = 0

    @property
    def is_empty(self) -> bool:
        """True if there was nothing to do."""
        return not self.rows and not self.held


def read_window(
    partitions: Sequence[int],
    connection: Connection,
    *,
    rows_max: int = ROWS_MAX,
    octets_max: int = OCTETS_MAX,
) -> Window:
    """The first waiting rows of each partition, and rows that have to wait set aside."""
    if not partitions:
        return Window(())
    heads = _heads(connection, partitions, rows_max)
    stopped = _stopped(connection, {head.ordering_key for head in heads})
    held = [head.id for head in heads if head.ordering_key in stopped]
    if held:
        _hold(connection, held)
    free = [head for head in heads if head.ordering_key not in stopped]
    ids = _within(free, octets_max)
    if not ids:
        return Window((), len(held))
    rows = connection.execute(
        select(*COLUMNS).where(OutboxRow.id.in_(ids)).order_by(OutboxRow.id)
    ).mappings()
    return Window([dict(row) for row in rows], len(held))


def _heads(connection: Connection, partitions: Sequence[int], rows_max: int) -> Sequence[Any]:
    of_each = -(-rows_max // len(partitions))
    wanted = (OutboxRow.id, OutboxRow.ordering_key, OutboxRow.octets)
    parts = [
        select(*wanted)
        .where(OutboxRow.partition == number, IS_WAITING)
        .order_by(OutboxRow.id)
        .limit(of_each)
        .subquery()
        .select()
        for number in partitions
    ]
    return connection.execute(union_all(*parts).order_by(text("id")).limit(rows_max)).all()


def _stopped(connection: Connection, keys: set[str | None]) -> set[str | None]:
    named = sorted(key for key in keys if key is not None)
    if not named:
        return set()
    found = connection.execute(
        select(OutboxRow.ordering_key).where(
            OutboxRow.ordering_key.in_(named), text("mqkit_outbox.state = 'stopped'")
        )
    )
    return set(found.scalars())


def _hold(connection: Connection, ids: Sequence[int]) -> None:
    connection.execute(
        update(OutboxRow).where(OutboxRow.id.in_(ids)).values(state=State.HELD.value)
    )


def _within(heads: Sequence[Any], octets_max: int) -> list[int]:
    """The ids of the first rows whose bodies have room together; of one row always."""
    ids: list[int] = []
    room = octets_max
    for head in heads:
        room -= head.octets
        if ids and room < 0:
            break
        ids.append(head.id)
    return ids
