"""Stopped rows, repaired by a person, on either database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from mqkit.outbox.database import Database
from mqkit.outbox.repair import Choice, depths, list_rows, purge, purge_sent, retry
from mqkit.outbox.state import State
from mqkit.outbox.tables import OutboxRow

pytestmark = pytest.mark.anyio
Put = Callable[..., list[int]]


def states(engine: Engine) -> dict[int, str]:
    with engine.begin() as connection:
        rows = connection.execute(select(OutboxRow.id, OutboxRow.state).order_by(OutboxRow.id))
        return {row.id: row.state for row in rows}


async def stop(put: Put) -> dict[str, int]:
    (bad,) = put("bad", state="stopped", reason="unroutable")
    (held,) = put("bad", state="held")
    (worse,) = put("worse", state="stopped")
    (lone,) = put(None, state="stopped")
    (fine,) = put("fine")
    return {"bad": bad, "held": held, "worse": worse, "lone": lone, "fine": fine}


async def test_retry_lets_a_key_go_with_what_is_behind(plain: Engine, put: Put) -> None:
    ids = await stop(put)
    assert await retry(Database(plain), Choice(keys=["bad", "fine"])) == 1
    assert [states(plain)[ids[name]] for name in ids] == [
        *("waiting", "waiting", "stopped", "stopped", "waiting")
    ]
    (row, *_) = await list_rows(Database(plain), [State.WAITING], 10)
    assert (row.id, row.reason) == (ids["bad"], None)
    assert await retry(Database(plain), Choice(every=True)) == 2
    assert set(states(plain).values()) == {"waiting"}


async def test_purge_deletes_the_stopped_row_and_lets_go_what_is_behind(
    plain: Engine, put: Put
) -> None:
    ids = await stop(put)
    assert await purge(Database(plain), Choice(ids=[ids["bad"], ids["fine"], ids["held"]])) == 1
    left = states(plain)
    assert ids["bad"] not in left
    assert (left[ids["held"]], left[ids["fine"]]) == ("waiting", "waiting")


async def test_a_key_with_another_stopped_row_stays(plain: Engine, put: Put) -> None:
    first, _ = put("bad", "bad", state="stopped")
    (held,) = put("bad", state="held")
    await retry(Database(plain), Choice(ids=[first]))
    assert states(plain)[held] == "held"


async def test_rows_are_listed_and_counted(plain: Engine, put: Put) -> None:
    ids = await stop(put)
    rows = await list_rows(Database(plain), [State.STOPPED], 2)
    assert [row.id for row in rows] == [ids["bad"], ids["worse"]]
    assert (rows[0].reason, rows[0].ordering_key, rows[0].octets) == ("unroutable", "bad", 8)
    assert datetime.now(UTC) - rows[0].created_at < timedelta(hours=1)
    counted = {depth.state: depth.rows for depth in await depths(Database(plain))}
    assert counted == {"held": 1, "stopped": 3, "waiting": 1}


async def test_sent_rows_go_by_age_from_both_tables(
    plain: Engine, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqkit.outbox.repair.SLICE", 2)
    now = datetime.now(UTC)
    put(*"aaaaa", state="sent", sent_at=now - timedelta(days=8))
    (young,) = put("a", state="sent", sent_at=now)
    (waiting,) = put("a")
    with plain.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO mqkit_outbox_sent (id, exchange, routing_key, body, octets,"
                " message_id, properties, headers, created_at, sent_at) SELECT id, exchange,"
                " routing_key, body, octets, message_id, properties, headers, created_at, sent_at"
                " FROM mqkit_outbox WHERE state = 'sent'"
            )
        )
    assert await purge_sent(Database(plain), timedelta(days=7)) == 10
    assert list(states(plain)) == [young, waiting]


async def test_a_choice_of_nothing_is_nothing(plain: Engine, put: Put) -> None:
    await stop(put)
    assert await retry(Database(plain), Choice()) == 0
    chosen: Any = Choice(ids=[10**6])
    assert await purge(Database(plain), chosen) == 0
