"""The databases that an outbox can be in. Pure."""

from __future__ import annotations

from mqkit.errors import ConfigurationError

POSTGRESQL, SQLITE = "postgresql", "sqlite"


def supported(dialect: str) -> str:
    """``dialect``, a name of SQLAlchemy's or a vendor of Django's. Raises
    :exc:`~mqkit.errors.ConfigurationError` for one that is neither PostgreSQL nor SQLite."""
    if dialect not in (POSTGRESQL, SQLITE):
        raise ConfigurationError(f"the outbox is for PostgreSQL and SQLite, and this is {dialect}")
    return dialect
