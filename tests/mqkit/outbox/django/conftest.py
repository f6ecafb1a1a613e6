"""A Django site in the tests' own process. Its settings are global, so they are made once; each
test has a database of its own as the default one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import django
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from sqlalchemy import Engine, create_engine, make_url, text

from mqkit.outbox.tables import metadata

ZONE = "America/St_Johns"
"""Not UTC, and not by whole hours."""

if not settings.configured:
    # Without a LOGGING_CONFIG: logging is the tests' own.
    settings.configure(
        INSTALLED_APPS=["mqkit.outbox.django"], TIME_ZONE=ZONE, USE_TZ=True, LOGGING_CONFIG=None
    )
    django.setup()


@dataclass(frozen=True, slots=True)
class Site:
    """A database as Django knows it, and as a relay does."""

    url: str
    engine: Engine

    def migrate(self, *words: str) -> None:
        call_command("migrate", "mqkit_outbox", *words, verbosity=0)

    def clear(self) -> None:
        metadata.drop_all(self.engine)
        with self.engine.begin() as connection:
            connection.execute(text("DROP TABLE IF EXISTS django_migrations"))


def entry_of(url: str) -> dict[str, Any]:
    """An entry of ``DATABASES`` for a URL of SQLAlchemy's."""
    parsed = make_url(url)
    return {
        "ENGINE": f"django.db.backends.{parsed.get_backend_name().replace('sqlite', 'sqlite3')}",
        "NAME": parsed.database,
        "USER": parsed.username or "",
        "PASSWORD": parsed.password or "",
        "HOST": parsed.host or "",
        "PORT": parsed.port or "",
    }


@pytest.fixture
def empty_site(database_url: str) -> Iterator[Site]:
    """A site without a table, on either database."""
    site = Site(database_url, create_engine(database_url))
    site.clear()
    entry = {"default": entry_of(database_url)}
    connections.databases["default"] = connections.configure_settings(entry)["default"]
    connections["default"] = connections.create_connection("default")
    yield site
    connections["default"].close()
    del connections["default"]
    site.clear()
    site.engine.dispose()


@pytest.fixture
def site(empty_site: Site) -> Site:
    """A site with an empty outbox, on either database."""
    empty_site.migrate()
    return empty_site
