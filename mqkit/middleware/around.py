"""The two protocols of middleware::

    @app.around_publish
    async def traced(message: Message, publish: PublishNext) -> Outcome:
        return await publish(message.with_headers({"trace": current_trace()}))

    @app.around_handle
    async def timed(delivery: Delivery, handle: HandleNext) -> object:
        with measured(delivery.routing_key):
            return await handle(delivery)

The first one that is registered is the outermost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome

PublishNext: TypeAlias = Callable[[Message], Awaitable[Outcome]]
"""Publishes a message: the next middleware, or mqkit."""

HandleNext: TypeAlias = Callable[[Delivery], Awaitable[object]]
"""Handles a delivery: the next middleware, or the handler. Raises what that does, and
:exc:`~mqkit.BodyMisfit`."""


class PublishMiddleware(Protocol):
    """Around each publish. It may change the message, look at the outcome, publish again, or answer
    with an outcome of its own. What it raises, the caller of the publish gets."""

    async def __call__(self, message: Message, publish: PublishNext, /) -> Outcome: ...


class HandleMiddleware(Protocol):
    """Around each handler of single messages. What it returns, the handler has returned; what it
    raises, the handler has raised."""

    async def __call__(self, delivery: Delivery, handle: HandleNext, /) -> object: ...
