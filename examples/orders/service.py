"""An order workflow: placed, paid, shipped. Each step is one transaction, with the message that it
answers (the inbox) and the message that it asks for (the outbox).

    python service.py                     # the consumers and the relay
    python service.py place ann 42.50     # what a web request would do
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

import mqkit
from mqkit import inbox, outbox

PREFIX = os.environ.get("PREFIX", "")
engine = create_async_engine(os.environ.get("DATABASE_URL", "sqlite+aiosqlite:///shop.db"))
sessions = async_sessionmaker(engine)
app = mqkit.App(topology=Path(__file__).with_name("topology.yaml"))
once = inbox.Inbox(sessions)


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    total: Mapped[float]
    state: Mapped[str] = mapped_column(default="placed")


class Step(BaseModel):
    order_id: int


def tell(session: AsyncSession, what: str, order: Order) -> None:
    step = Step(order_id=order.id)
    outbox.publish(session, f"{PREFIX}orders", what, step, ordering_key=order.customer)


async def place(customer: str, total: float) -> None:
    async with engine.begin() as connection:
        for tables in (Base.metadata, inbox.metadata, outbox.metadata):
            await connection.run_sync(tables.create_all)
    async with sessions.begin() as session:
        order = Order(customer=customer, total=total)
        session.add(order)
        await session.flush()
        tell(session, "order.placed", order)


@app.consumer(f"{PREFIX}payments", inbox=once)
async def pay(step: Step, session: AsyncSession = mqkit.depends(once.session)) -> None:
    order = await session.get_one(Order, step.order_id)
    order.state = "paid"
    tell(session, "order.paid", order)


@app.consumer(f"{PREFIX}shipments", inbox=once)
async def ship(step: Step, session: AsyncSession = mqkit.depends(once.session)) -> None:
    order = await session.get_one(Order, step.order_id)
    order.state = "shipped"
    print(f"shipped order {order.id} to {order.customer}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["place"]:
        asyncio.run(place(sys.argv[2], float(sys.argv[3])))
    else:
        app.run(outbox.Relay(app, engine, poll="100ms"))
