"""The tables of the outbox, for Django: those of :mod:`mqkit.outbox.tables`.

Rows are written by :func:`mqkit.outbox.django.publish`, and read by a relay.
"""

from __future__ import annotations

from typing import Any

from django.db import models

from mqkit.outbox.django.fields import IdField, JsonField, UtcField, utc_now
from mqkit.outbox.state import STATE_LENGTH, State
from mqkit.publishing.message_options import SHORT_STRING_OCTETS_MAX


class Columns(models.Model):
    """The columns that both tables have."""

    exchange = models.CharField(max_length=SHORT_STRING_OCTETS_MAX)
    routing_key = models.CharField(max_length=SHORT_STRING_OCTETS_MAX)
    body = models.BinaryField()
    octets = models.IntegerField()
    message_id = models.CharField(max_length=SHORT_STRING_OCTETS_MAX)
    properties: Any = JsonField(editable=False)
    headers: Any = JsonField(editable=False)
    ordering_key = models.TextField(null=True)
    created_at: Any = UtcField(default=utc_now, editable=False)
    sent_at: Any = UtcField(null=True, editable=False)

    class Meta:
        """Without a table of its own."""

        abstract = True


class OutboxRow(Columns):
    """One message to publish. Rows of one ``ordering_key`` are published in the order of ``id``."""

    id = models.BigAutoField(primary_key=True)
    partition = models.SmallIntegerField()
    state = models.CharField(max_length=STATE_LENGTH, default=State.WAITING.value)
    reason = models.TextField(null=True)

    class Meta:
        """The table's names."""

        db_table = "mqkit_outbox"
        indexes = (
            models.Index(
                fields=("partition", "id"),
                name="ix_mqkit_outbox_waiting",
                condition=models.Q(state="waiting"),
            ),
            models.Index(
                fields=("ordering_key",),
                name="ix_mqkit_outbox_behind",
                condition=models.Q(state__in=("stopped", "held")),
            ),
            models.Index(
                fields=("sent_at",),
                name="ix_mqkit_outbox_sent",
                condition=models.Q(state="sent"),
            ),
        )


class SentRow(Columns):
    """A message that was confirmed, and moved here by ``after="move"``."""

    id: Any = IdField(primary_key=True)

    class Meta:
        """The table's names."""

        db_table = "mqkit_outbox_sent"
        indexes = (models.Index(fields=("sent_at",), name="ix_mqkit_outbox_sent_sent_at"),)
