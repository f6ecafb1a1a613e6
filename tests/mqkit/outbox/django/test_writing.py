"""Writing in a transaction of Django's: as it is written in a session of SQLAlchemy's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext, override_settings
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

import mqkit
from mqkit import outbox
from mqkit.outbox.django import publish, send
from mqkit.outbox.notification import CHANNEL
from mqkit.outbox.preparing import prepare_by
from mqkit.outbox.tables import OutboxRow


def rows(engine: Engine) -> list[dict[str, Any]]:
    """The rows as a relay reads them."""
    with engine.connect() as reader:
        found = reader.execute(select(*OutboxRow.__table__.columns).order_by(OutboxRow.id))
        return [dict(row) for row in found.mappings()]


MESSAGE: dict[str, Any] = {
    "exchange": "orders",
    "routing_key": "order.placed",
    "body": {"n": 1},
    "message_id": "m-1",
    "headers": {"nul": "a\0b", "octets": b"\xff\x00", "z": 1, "a": {"deep": [True, None]}},
    "ordering_key": "ann",
    "priority": 5,
    "expiration": "10m",
    "timestamp": datetime(2026, 1, 2, tzinfo=UTC),
    "idempotency_key": "order-7",
    "persistent": False,
    "mandatory": False,
}


@pytest.fixture(params=[True, False], ids=["use_tz", "naive"])
def use_tz(request: pytest.FixtureRequest) -> Iterator[None]:
    with override_settings(USE_TZ=request.param):
        yield


@pytest.mark.usefixtures("use_tz")
@pytest.mark.parametrize("binding", ["by the driver", "by the server"])
def test_a_row_is_the_one_that_a_session_writes(site: Any, binding: str) -> None:
    if binding == "by the server" and site.engine.dialect.name == "postgresql":
        connection.close()
        connection.settings_dict["OPTIONS"]["server_side_binding"] = True
    begun = datetime.now(UTC)
    with transaction.atomic():
        written = publish(**MESSAGE)
    with Session(site.engine) as session, session.begin():
        outbox.publish(session, **MESSAGE)
    ours, theirs = rows(site.engine)
    assert ours.pop("id") == written.id == theirs.pop("id") - 1
    made = [row.pop("created_at").replace(tzinfo=UTC) for row in (ours, theirs)]
    if site.engine.dialect.name == "sqlite":
        assert [begun, *made] == sorted([begun, *made])
    assert ours == theirs
    assert list(ours["headers"]) == list(theirs["headers"])
    assert ours["state"] == "waiting"


def test_a_row_has_the_fate_of_its_transaction(site: Any) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        publish("", "orders", b"1")
        raise ZeroDivisionError
    with transaction.atomic():
        publish("", "orders", b"2")
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            publish("", "orders", b"3")
            raise ZeroDivisionError
        message = mqkit.App.message("", "orders", b"4", message_id="made before")
        assert send(message, ordering_key="c").id
    found = rows(site.engine)
    assert [row["body"] for row in found] == [b"2", b"4"]
    assert (found[1]["message_id"], found[1]["ordering_key"]) == ("made before", "c")


def test_without_a_transaction_it_is_refused_and_nothing_is_written(site: Any) -> None:
    refused = "there is none on the database 'default'.*transaction.atomic"
    with pytest.raises(transaction.TransactionManagementError, match=refused):
        publish("", "orders", b"1")
    assert rows(site.engine) == []
    transaction.set_autocommit(False)
    try:
        publish("", "orders", b"2")
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert len(rows(site.engine)) == 1


def test_the_transaction_may_be_of_another_of_the_sites_databases(site: Any) -> None:
    connections["other"] = connections["default"].copy("other")
    try:
        with transaction.atomic(using="other"):
            assert publish("", "orders", b"1", using="other").id
            with pytest.raises(transaction.TransactionManagementError, match="'default'"):
                publish("", "orders", b"2")
            with pytest.raises(transaction.TransactionManagementError, match="'default'"):
                publish("", "orders", b"3", using="default")
    finally:
        connections["other"].close()
        del connections["other"]
    assert [row["body"] for row in rows(site.engine)] == [b"1"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"body": float("nan")},
        {"body": object()},
        {"exchange": "x" * 256},
        {"exchange": None},
        {"routing_key": "a\0b"},
        {"headers": {"x": object()}},
        {"headers": 3},
        {"ordering_key": 7},
        {"priority": 256},
        {"message_id": "\ud800"},
        {"headers": {}, "idempotency_key": ""},
    ],
)
def test_what_makes_no_message_is_refused_in_the_words_of_the_other(
    site: Any, wrong: dict[str, Any]
) -> None:
    def told(call: Any, *place: Any) -> str:
        with pytest.raises(mqkit.ConfigurationError) as refused:
            call(*place, **MESSAGE | wrong)
        return str(refused.value)

    with transaction.atomic():
        ours = told(publish)
        publish("", "orders", b"goes on")
    with Session(site.engine) as session:
        assert ours == told(outbox.publish, session)
    assert [row["body"] for row in rows(site.engine)] == [b"goes on"]


def test_a_database_that_no_relay_reads_is_refused(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "vendor", "mysql")
    with pytest.raises(mqkit.ConfigurationError, match="PostgreSQL and SQLite, and this is mysql"):
        publish("", "orders", b"1")


def test_a_commit_is_told_and_a_rollback_is_not(site: Any) -> None:
    if site.engine.dialect.name == "sqlite":
        with CaptureQueriesContext(connection) as queries, transaction.atomic():
            publish("", "orders", b"1")
        assert not any("notify" in query["sql"] for query in queries)
        return
    listener = site.engine.raw_connection()
    try:
        listener.driver_connection.autocommit = True
        listener.driver_connection.execute(f"LISTEN {CHANNEL}")
        with transaction.atomic():
            publish("", "orders", b"1")
            transaction.set_rollback(True)
        with transaction.atomic():
            publish("", "orders", b"2")
            publish("", "orders", b"3")
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_notify('{CHANNEL}', 'the last')")
        heard = []
        for notification in listener.driver_connection.notifies(timeout=60):
            heard.append(notification.payload)
            if notification.payload:
                break
        assert heard == ["", "the last"]
    finally:
        listener.invalidate()
        listener.close()


def test_a_message_is_prepared_as_a_session_prepares_it(site: Any) -> None:
    undo = prepare_by(lambda message: message.with_headers({"mark": 1}))
    try:
        with transaction.atomic():
            publish("", "q", "7")
            send(mqkit.Message("", "q", b"8"))
    finally:
        undo()
    assert ["mark" in row["headers"] for row in rows(site.engine)] == [True, True]
