"""The consumer: a process that writes an effect for each order, with or without the inbox."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from pydantic import BaseModel
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine

import mqkit
from interop.effects.moments import HOLD_S, is_one_of_few, say_in_between
from interop.effects.shop import QUEUE, Effect
from mqkit.inbox import Inbox


class Placed(BaseModel):
    """The body of a message."""

    order_id: int
    customer: int
    number: int


def app_of(url: str, database: str, *, has_inbox: bool) -> mqkit.App:
    """The application."""
    app = mqkit.App(url)
    sessions = async_sessionmaker(create_async_engine(database))
    if has_inbox:
        inbox = Inbox(sessions)

        @app.consumer(QUEUE, inbox=inbox)
        async def once(placed: Placed, session: Any = mqkit.depends(inbox.session)) -> None:
            write(session, placed)

    else:

        @app.consumer(QUEUE)
        async def at_least_once(placed: Placed) -> None:
            try:
                async with sessions() as session, session.begin():
                    write(session, placed)
            except (DBAPIError, OSError) as error:
                raise mqkit.Unavailable(type(error).__name__) from error

    @app.around_handle
    async def tell(delivery: mqkit.Delivery, handle: mqkit.HandleNext) -> object:
        result = await handle(delivery)
        if is_one_of_few():  # it is committed, and not acked yet
            say_in_between()
            await asyncio.sleep(HOLD_S)
        return result

    return app


def write(session: AsyncSession, placed: Placed) -> None:
    """The effect of an order."""
    session.add(Effect(**placed.model_dump()))


if __name__ == "__main__":
    app_of(sys.argv[1], sys.argv[2], has_inbox=sys.argv[3] == "inbox").run()
