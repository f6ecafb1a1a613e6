"""The outcomes of a window, written down.

=======================================  ==========================================================
outcome                                  the row
=======================================  ==========================================================
confirmed                                is deleted, kept or moved, as ``after`` says
rejected: unroutable, no exchange, too   is stopped, with the reason, and its key with it
large, refused
rejected: nacked, blocked; or unknown    waits, and is published again under the same ids
none (it is behind one of the above)     waits
=======================================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, literal, select, update

from mqkit.errors import ConfigurationError
from mqkit.outbox.state import State
from mqkit.outbox.tables import Columns, OutboxRow, SentRow
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason

REASON_MAX = 1000
"""Characters of a reason: a broker's text is short, and an error's may be anything."""
MAY_PASS = frozenset({RejectReason.NACKED, RejectReason.BLOCKED})


class After(StrEnum):
    """The policy for rows whose message is confirmed."""

    DELETE = "delete"
    KEEP = "keep"
    MOVE = "move"

    @classmethod
    def of(cls, text: str) -> After:
        """Raises :exc:`~mqkit.errors.ConfigurationError` for another word."""
        try:
            return cls(text)
        except ValueError:
            known = ", ".join(f'"{each}"' for each in cls)
            raise ConfigurationError(f"after={text!r}: expected one of {known}") from None


@dataclass(slots=True)
class Marked:
    """Counts of rows; and the partitions with a row that was neither confirmed nor stopped."""

    sent: int = 0
    stopped: int = 0
    unsettled: int = 0
    reasons: list[str] = field(default_factory=list)
    """Of those that are stopped, or wait."""
    resting: set[int] = field(default_factory=set)


def mark(
    rows: Sequence[Mapping[str, Any]],
    outcomes: Mapping[int, Outcome],
    after: After,
    now: datetime,
    connection: Connection,
) -> Marked:
    """Write the outcomes down, in the connection's transaction."""
    marked = Marked()
    confirmed: list[int] = []
    told: list[dict[str, object]] = []
    for row in rows:
        outcome = outcomes.get(row["id"])
        if outcome is None:
            continue
        if isinstance(outcome, Confirmed):
            confirmed.append(row["id"])
            continue
        reason = _reason(outcome)
        is_final = isinstance(outcome, Rejected) and outcome.reason not in MAY_PASS
        state = State.STOPPED if is_final else State.WAITING
        told.append({"row": row["id"], "to": state.value, "why": reason})
        marked.reasons.append(f"row {row['id']}: {reason}")
        if is_final:
            marked.stopped += 1
        else:
            marked.unsettled += 1
            marked.resting.add(row["partition"])
    marked.sent = len(confirmed)
    if confirmed:
        _settle(connection, confirmed, after, now)
    if told:
        connection.execute(
            update(OutboxRow.__table__)  # type: ignore[arg-type]
            .where(OutboxRow.id == bindparam("row"))
            .values(state=bindparam("to"), reason=bindparam("why")),
            told,
        )
    return marked


def _reason(outcome: Outcome) -> str:
    if isinstance(outcome, Rejected):
        text = f"{outcome.reason}: {outcome.detail}" if outcome.detail else str(outcome.reason)
    else:
        text = getattr(outcome, "detail", "")
    return " ".join(text.replace("\0", " ").split())[:REASON_MAX]


def _settle(connection: Connection, ids: Sequence[int], after: After, now: datetime) -> None:
    these = OutboxRow.id.in_(ids)
    if after is After.KEEP:
        kept = {"state": State.SENT.value, "sent_at": now, "reason": None}
        connection.execute(update(OutboxRow).where(these).values(**kept))
        return
    if after is After.MOVE:
        names = [name for name in Columns.__annotations__ if name != "sent_at"]
        values = select(
            OutboxRow.id,
            *(getattr(OutboxRow, name) for name in names),
            literal(now, OutboxRow.__table__.c.sent_at.type),
        ).where(these)
        connection.execute(insert(SentRow).from_select(["id", *names, "sent_at"], values))
    connection.execute(delete(OutboxRow).where(these))
