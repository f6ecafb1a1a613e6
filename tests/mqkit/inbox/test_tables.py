"""The table, as Alembic sees it."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine

from mqkit.inbox.tables import metadata


def test_alembic_sees_no_difference_where_it_was_created(plain: Engine) -> None:
    with plain.begin() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        # A database of tests may have tables of other rooms, too.
        kept = [each for each in compare_metadata(context, metadata) if "inbox" in str(each)]
        assert kept == []
