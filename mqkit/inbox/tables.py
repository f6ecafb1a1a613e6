"""The table of the inbox, for SQLAlchemy and for Alembic (as that of :mod:`mqkit.outbox.tables`).

A key is kept for each consumer: two queues that both get a message handle it both.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import DateTime, Index, MetaData, PrimaryKeyConstraint, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

metadata = MetaData()
"""The one table. Names of constraints and indexes are fixed, so that migrations can name them."""


class Base(DeclarativeBase):
    """The base of the table."""

    metadata = metadata


class InboxRow(Base):
    """One message that was handled by the consumer of a queue."""

    __tablename__ = "mqkit_inbox"

    consumer: Mapped[str] = mapped_column(String(255))
    """The name of the queue, or the inbox's own name for it."""
    key: Mapped[str] = mapped_column(Text)
    handled_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))

    __table_args__ = (
        PrimaryKeyConstraint("consumer", "key", name="pk_mqkit_inbox"),
        Index("ix_mqkit_inbox_handled_at", "handled_at"),
    )
