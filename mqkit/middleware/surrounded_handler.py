"""A handler with middleware around it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from mqkit.consumer.handler import AnyHandler, Handler
from mqkit.message import Delivery
from mqkit.middleware.around import HandleMiddleware


class SurroundedHandler:
    """Takes the place of ``handler``. Decoding the body is within the middleware; the handler's
    timeout is the handler's alone."""

    takes_delivery = True

    def __init__(self, handler: AnyHandler, around: Sequence[HandleMiddleware]) -> None:
        self._handler = handler
        self.name = handler.name
        handle: Callable[[Delivery], Awaitable[object]] = self._innermost
        for middleware in reversed(around):
            handle = partial(_through, middleware, handle)
        self._handle = handle
        # A middleware that ends its program, or that awaits what is cancelled, is as a handler
        # that does.
        self._guard = Handler(self._outermost)

    @property
    def timeout_s(self) -> float | None:
        return self._handler.timeout_s

    def arguments(self, delivery: Delivery) -> tuple[Any, ...]:
        return (delivery,)

    async def __call__(self, *arguments: Any) -> object:
        return await self._guard(*arguments)

    async def _outermost(self, delivery: Delivery) -> object:
        return await self._handle(delivery)

    async def _innermost(self, delivery: Delivery) -> object:
        return await self._handler(*self._handler.arguments(delivery))


def _through(
    middleware: HandleMiddleware,
    handle: Callable[[Delivery], Awaitable[object]],
    delivery: Delivery,
) -> Awaitable[object]:
    return middleware(delivery, handle)
