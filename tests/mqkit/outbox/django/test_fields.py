"""The fields: what is written is read again, whatever the site's time zone is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Min
from django.test.utils import override_settings
from sqlalchemy import update
from sqlalchemy.orm import Session

import mqkit
from mqkit.outbox import OutboxRow as Stored
from mqkit.outbox.django import publish
from mqkit.outbox.django.fields import IdField, JsonField, UtcField
from mqkit.outbox.django.models import OutboxRow, SentRow

WHEN = datetime(2026, 7, 2, 23, 30, 1, tzinfo=UTC)


@pytest.fixture(params=[True, False], ids=["use_tz", "naive"])
def use_tz(request: pytest.FixtureRequest) -> Iterator[bool]:
    with override_settings(USE_TZ=request.param):
        yield request.param


@pytest.mark.usefixtures("use_tz")
def test_a_moment_is_the_same_for_django_and_for_a_relay(site: Any) -> None:
    with transaction.atomic():
        row = publish("", "orders", b"1")
        row.sent_at = WHEN.astimezone(timezone(timedelta(hours=5)))
        row.save()
    with Session(site.engine) as session, session.begin():
        stored = session.get_one(Stored, row.id)
        assert stored.sent_at is not None
        read = stored.sent_at
        assert (read if read.tzinfo else read.replace(tzinfo=UTC)) == WHEN
        later = {"sent_at": WHEN + timedelta(days=1)}
        session.execute(update(Stored).where(Stored.id == row.id).values(**later))
    again = OutboxRow.objects.get(sent_at__gt=WHEN, sent_at__lt=WHEN + timedelta(days=2))
    assert (again.sent_at, again.sent_at.tzinfo) == (WHEN + timedelta(days=1), UTC)
    assert OutboxRow.objects.aggregate(first=Min("sent_at"))["first"] == again.sent_at
    assert not OutboxRow.objects.filter(sent_at__gt=again.sent_at).exists()
    OutboxRow.objects.update(sent_at=None)
    assert OutboxRow.objects.get().sent_at is None


@pytest.mark.usefixtures("use_tz")
def test_a_moment_without_a_zone_is_the_sites(site: Any) -> None:
    with transaction.atomic():
        publish("", "orders", b"1")
    OutboxRow.objects.update(sent_at=datetime(2026, 7, 2, 21, 0, 1))
    assert OutboxRow.objects.get().sent_at == WHEN  # two and a half hours west of UTC


def test_json_is_read_as_it_was_written(site: Any) -> None:
    values: list[Any] = [{"z": 1, "a": ["\0", None, 1.0]}, "text", [], None]
    with transaction.atomic():
        for number, value in enumerate(values):
            row = publish("", "orders", b"")
            row.headers = value
            row.save()
            SentRow(
                **{"id": number, "octets": 0, "headers": value, "properties": {}, "body": b""}
            ).save(force_insert=True)
    assert list(OutboxRow.objects.order_by("id").values_list("headers", flat=True)) == values
    assert list(SentRow.objects.order_by("id").values_list("headers", flat=True)) == values


def test_another_database_is_refused(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "oracle")
    for field in (IdField(), JsonField(), UtcField()):
        with pytest.raises(mqkit.ConfigurationError, match="this is oracle"):
            field.db_type(connection)
