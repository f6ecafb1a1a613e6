"""Both tables, as :mod:`mqkit.outbox.tables` makes them."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

from mqkit.outbox.django.fields import IdField, JsonField, UtcField, utc_now


def columns() -> list[tuple[str, Any]]:
    """The columns that both tables have."""
    return [
        ("exchange", models.CharField(max_length=255)),
        ("routing_key", models.CharField(max_length=255)),
        ("body", models.BinaryField()),
        ("octets", models.IntegerField()),
        ("message_id", models.CharField(max_length=255)),
        ("properties", JsonField(editable=False)),
        ("headers", JsonField(editable=False)),
        ("ordering_key", models.TextField(null=True)),
        ("created_at", UtcField(default=utc_now, editable=False)),
        ("sent_at", UtcField(editable=False, null=True)),
    ]


def name_keys(_: object, schema_editor: Any) -> None:
    """Give the primary keys their fixed names. SQLite has none for a key of one column."""
    if schema_editor.connection.vendor == "postgresql":
        for table in ("mqkit_outbox", "mqkit_outbox_sent"):
            # A router may have kept the table from this database.
            schema_editor.execute(f"ALTER INDEX IF EXISTS {table}_pkey RENAME TO pk_{table}")


class Migration(migrations.Migration):
    """Makes the tables. If SQLAlchemy or Alembic has made them, note it as done:
    ``migrate --fake mqkit_outbox``."""

    initial = True
    dependencies = ()
    operations = (
        migrations.CreateModel(
            name="OutboxRow",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("partition", models.SmallIntegerField()),
                ("state", models.CharField(default="waiting", max_length=16)),
                ("reason", models.TextField(null=True)),
                *columns(),
            ],
            options={
                "db_table": "mqkit_outbox",
                "indexes": [
                    models.Index(
                        fields=["partition", "id"],
                        name="ix_mqkit_outbox_waiting",
                        condition=models.Q(state="waiting"),
                    ),
                    models.Index(
                        fields=["ordering_key"],
                        name="ix_mqkit_outbox_behind",
                        condition=models.Q(state__in=("stopped", "held")),
                    ),
                    models.Index(
                        fields=["sent_at"],
                        name="ix_mqkit_outbox_sent",
                        condition=models.Q(state="sent"),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SentRow",
            fields=[("id", IdField(primary_key=True, serialize=False)), *columns()],
            options={
                "db_table": "mqkit_outbox_sent",
                "indexes": [models.Index(fields=["sent_at"], name="ix_mqkit_outbox_sent_sent_at")],
            },
        ),
        migrations.RunPython(name_keys, migrations.RunPython.noop),
    )
