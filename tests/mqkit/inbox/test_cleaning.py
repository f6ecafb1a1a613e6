"""Old keys, deleted in slices."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from mqkit.inbox.cleaning import EVERY_S, Cleaning
from mqkit.inbox.tables import InboxRow
from mqkit.inbox.taking import take

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_what_is_old_enough_goes_in_slices_and_the_rest_stays(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqkit.inbox.cleaning.SLICE", 2)
    now = [NOW]
    cleaning = Cleaning(timedelta(days=1), lambda: now[0])
    take(session, "orders", "abc", NOW - timedelta(days=2))
    take(session, "orders", "d", NOW - timedelta(hours=1))
    assert cleaning.take()
    assert not cleaning.take()
    assert cleaning.clean(session) == 2
    assert cleaning.take()  # the slice was full, so the next is due
    assert cleaning.clean(session) == 1
    assert not cleaning.take()
    assert session.scalars(select(InboxRow.key)).all() == ["d"]
    now[0] += timedelta(seconds=EVERY_S)
    assert cleaning.take()
    assert cleaning.clean(session) == 0
    assert session.scalar(select(func.count()).select_from(InboxRow)) == 1
