"""The tables and the names of the shop."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, MetaData
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

QUEUE = "effects.orders"
CUSTOMERS = 200

metadata = MetaData()


class Base(DeclarativeBase):
    """The base of the shop's tables."""

    metadata = metadata


class Order(Base):
    """The ``number``-th order of a customer."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    customer: Mapped[int]
    number: Mapped[int]


class Effect(Base):
    """The work that was done for an order. ``id`` is the order in which that was done; nothing but
    the inbox keeps it from being done twice."""

    __tablename__ = "effects"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    order_id: Mapped[int] = mapped_column(index=True)
    customer: Mapped[int]
    number: Mapped[int]
