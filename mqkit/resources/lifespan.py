"""The lifespan of one resource: made of its function, ended with an exit stack."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from functools import partial
from types import TracebackType
from typing import Any

import anyio
import anyio.to_thread

TEARDOWN_S = 10.0
"""The time that a resource has to end: for a commit or a goodbye, and shorter than a drain."""


async def begin(
    stack: AsyncExitStack, function: Callable[..., Any], keywords: Mapping[str, Any]
) -> Any:
    """The resource that ``function`` makes; ``stack`` ends it. Raises what the function does."""
    if _is(function, inspect.isasyncgenfunction):
        made: AbstractAsyncContextManager[Any] = asynccontextmanager(function)(**keywords)
        return await stack.enter_async_context(made)
    if _is(function, inspect.isgeneratorfunction):
        return await stack.enter_async_context(_InThreads(contextmanager(function)(**keywords)))
    if _is(function, inspect.iscoroutinefunction):
        return await function(**keywords)
    return await anyio.to_thread.run_sync(partial(function, **keywords))


class _InThreads:
    """A context manager that is not async: entered and left in worker threads."""

    def __init__(self, inner: AbstractContextManager[Any]) -> None:
        self._inner = inner

    async def __aenter__(self) -> Any:
        # A thread can't be cancelled: one that makes the resource all the same would leave nobody
        # to end it.
        with anyio.CancelScope(shield=True):
            return await anyio.to_thread.run_sync(self._inner.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await anyio.to_thread.run_sync(self._inner.__exit__, kind, error, trace)


def _is(function: Callable[..., Any], kind: Callable[[object], bool]) -> bool:
    if inspect.isclass(function):
        return False
    return kind(function) or kind(getattr(function, "__call__", None))  # noqa: B004 - an object
