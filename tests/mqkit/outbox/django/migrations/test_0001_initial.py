"""The tables that Django makes are those that SQLAlchemy makes."""

from __future__ import annotations

from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import override_settings
from sqlalchemy import Engine, inspect

from mqkit.outbox.django import publish
from mqkit.outbox.tables import metadata


def described(engine: Engine) -> dict[str, Any]:
    """The tables by their names, columns, types, keys and indexes."""
    seen = inspect(engine)
    return {
        table: {
            "columns": {
                column["name"]: (column["type"].compile(engine.dialect), column["nullable"])
                for column in seen.get_columns(table)
            },
            # SQLite has no name for a key of one column that is said with the column.
            "key": (
                seen.get_pk_constraint(table)["constrained_columns"],
                engine.dialect.name == "sqlite" or seen.get_pk_constraint(table)["name"],
            ),
            "indexes": {
                index["name"]: (
                    index["column_names"],
                    index["unique"],
                    {
                        name: str(value).replace('"', "")
                        for name, value in index.get("dialect_options", {}).items()
                        if name.endswith("_where")
                    },
                )
                for index in seen.get_indexes(table)
            },
            "checks": seen.get_check_constraints(table),
        }
        for table in seen.get_table_names()
        if table in metadata.tables
    }


def test_django_makes_the_tables_that_sqlalchemy_makes(empty_site: Any) -> None:
    empty_site.migrate()
    by_django = described(empty_site.engine)
    empty_site.migrate("zero")
    assert described(empty_site.engine) == {}
    metadata.create_all(empty_site.engine)
    by_sqlalchemy = described(empty_site.engine)
    assert by_django == by_sqlalchemy
    outbox = by_django["mqkit_outbox"]
    assert (len(by_django), len(outbox["columns"]), len(outbox["indexes"])) == (2, 14, 3)
    assert all(where for _, _, where in outbox["indexes"].values())


def test_alembic_sees_no_difference_where_django_has_migrated(site: Any) -> None:
    def is_ours(name: str | None, kind: str, _: object) -> bool:
        return kind != "table" or name in metadata.tables

    with site.engine.connect() as reader:
        options = {"compare_type": True, "include_name": is_ours}
        assert compare_metadata(MigrationContext.configure(reader, opts=options), metadata) == []


def test_the_models_need_no_other_migration(site: Any) -> None:
    call_command("makemigrations", "mqkit_outbox", check=True, dry_run=True, verbosity=0)


def test_tables_that_are_there_are_only_noted(empty_site: Any) -> None:
    metadata.create_all(empty_site.engine)
    empty_site.migrate("--fake")
    empty_site.migrate()
    assert set(metadata.tables) <= set(connection.introspection.table_names())


def test_an_id_is_never_given_twice(site: Any) -> None:
    ids = []
    for _ in range(2):
        with transaction.atomic():
            row = publish("", "orders", b"")
            ids.append(row.id)
            type(row).objects.all().delete()
    assert ids[0] < ids[1]


def test_a_site_whose_tests_make_tables_without_migrations_has_them(empty_site: Any) -> None:
    with override_settings(MIGRATION_MODULES={"mqkit_outbox": None}):
        call_command("migrate", run_syncdb=True, verbosity=0)
    by_models = described(empty_site.engine)
    metadata.drop_all(empty_site.engine)
    metadata.create_all(empty_site.engine)
    for table in (wanted := described(empty_site.engine)):
        wanted[table]["key"] = by_models[table]["key"]  # which has a name of Django's
    assert by_models == wanted
