"""The tables of the outbox, for SQLAlchemy and for Alembic.

    target_metadata = [Base.metadata, mqkit.outbox.metadata]      # alembic's env.py
    mqkit.outbox.metadata.create_all(engine)                      # without Alembic

The Django app (:mod:`mqkit.outbox.django`) has models of the same tables.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Text,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from mqkit.outbox.state import STATE_LENGTH, State

NAME_LENGTH = 255
"""AMQP counts the octets of a short string in one octet."""
_ID = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers INTEGER keys by itself, only

metadata = MetaData()
"""Both tables. Names of constraints and indexes are fixed, so that migrations can name them."""


class Base(DeclarativeBase):
    """The base of both tables."""

    metadata = metadata


class Columns:
    """The columns that both tables have."""

    exchange: Mapped[str] = mapped_column(String(NAME_LENGTH))
    routing_key: Mapped[str] = mapped_column(String(NAME_LENGTH))
    body: Mapped[bytes] = mapped_column(LargeBinary)
    octets: Mapped[int]
    """The length of the body: a relay reads no more bodies than it has room for."""
    message_id: Mapped[str] = mapped_column(String(NAME_LENGTH))
    properties: Mapped[dict[str, Any]] = mapped_column(JSON)
    headers: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The idempotency key is one of them."""
    ordering_key: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(
        DateTime(timezone=True), default=lambda: datetime.now(UTC)
    )
    sent_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class OutboxRow(Columns, Base):
    """One message to publish. Rows of one ``ordering_key`` are published in the order of ``id``."""

    __tablename__ = "mqkit_outbox"

    id: Mapped[int] = mapped_column(_ID, autoincrement=True)
    partition: Mapped[int] = mapped_column(SmallInteger)
    state: Mapped[str] = mapped_column(String(STATE_LENGTH), default=State.WAITING.value)
    reason: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        PrimaryKeyConstraint("id", name="pk_mqkit_outbox"),
        # Partial, so that rows that are kept cost the relay nothing.
        Index(
            "ix_mqkit_outbox_waiting",
            "partition",
            "id",
            postgresql_where=text("state = 'waiting'"),
            sqlite_where=text("state = 'waiting'"),
        ),
        Index(
            "ix_mqkit_outbox_behind",
            "ordering_key",
            postgresql_where=text("state IN ('stopped', 'held')"),
            sqlite_where=text("state IN ('stopped', 'held')"),
        ),
        Index(
            "ix_mqkit_outbox_sent",
            "sent_at",
            postgresql_where=text("state = 'sent'"),
            sqlite_where=text("state = 'sent'"),
        ),
        # SQLite would give the numbers of deleted rows again.
        {"sqlite_autoincrement": True},
    )


class SentRow(Columns, Base):
    """A message that was confirmed, and moved here by ``after="move"``."""

    __tablename__ = "mqkit_outbox_sent"

    id: Mapped[int] = mapped_column(_ID, autoincrement=False)

    __table_args__ = (
        PrimaryKeyConstraint("id", name="pk_mqkit_outbox_sent"),
        Index("ix_mqkit_outbox_sent_sent_at", "sent_at"),
    )
