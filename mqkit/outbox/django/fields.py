"""Fields for the columns that a relay reads by SQLAlchemy, and of which Django's own fields make
others: a number of SQLite's, JSON as text, a moment in UTC.

Each raises :exc:`~mqkit.errors.ConfigurationError` on a database that is neither PostgreSQL nor
SQLite.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db import models
from django.utils import timezone

from mqkit.outbox.dialect import SQLITE, supported


def utc_now() -> datetime:
    """The default of ``created_at``. Django's own has no time zone where ``USE_TZ`` is false."""
    return datetime.now(UTC)


class IdField(models.BigIntegerField):
    """An id that is given. SQLite numbers the rows of a table by a key of this type, only."""

    def db_type(self, connection: Any) -> str:
        """Of the column."""
        return "integer" if _is_sqlite(connection) else "bigint"


class JsonField(models.Field):
    """JSON as it was written. Django's would be ``jsonb``, which has no place for a NUL in a
    text and sorts the names."""

    def db_type(self, connection: Any) -> str:
        """Of the column."""
        supported(connection.vendor)
        return "json"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """A text for the database."""
        supported(connection.vendor)
        return json.dumps(value)

    def from_db_value(self, value: Any, expression: object, connection: Any) -> Any:
        """A Python value; PostgreSQL's driver has read it already."""
        return json.loads(value) if isinstance(value, str) and _is_sqlite(connection) else value


class UtcField(models.Field):
    """A moment in UTC, whatever ``USE_TZ`` and ``TIME_ZONE`` are: a relay does not know them. One
    that is given without a time zone is in Django's current one."""

    def db_type(self, connection: Any) -> str:
        """Of the column."""
        return "datetime" if _is_sqlite(connection) else "timestamp with time zone"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """For SQLite a text, as SQLAlchemy writes it."""
        if not isinstance(value, datetime):
            return value
        aware = timezone.make_aware(value) if timezone.is_naive(value) else value
        if not _is_sqlite(connection):
            return aware
        return aware.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")

    def from_db_value(self, value: Any, expression: object, connection: Any) -> datetime | None:
        """A moment in UTC."""
        if value is None:
            return None
        read = datetime.fromisoformat(value) if isinstance(value, str) else value
        if _is_sqlite(connection):
            return read.replace(tzinfo=UTC)
        if read.tzinfo is None:  # USE_TZ is false, so PostgreSQL has told it in TIME_ZONE
            read = read.replace(tzinfo=ZoneInfo(connection.timezone_name))
        return read.astimezone(UTC)


def _is_sqlite(connection: Any) -> bool:
    return supported(connection.vendor) == SQLITE
