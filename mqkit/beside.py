"""Functions that run beside a block of code, and end with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio


@asynccontextmanager
async def beside_the_block(
    functions: Sequence[Callable[[], Coroutine[Any, Any, object]]],
) -> AsyncIterator[None]:
    """Each of ``functions`` runs until it returns or the block ends, which cancels it.

    An error of one cancels the block and the others, and is raised in place of the group that it
    would be in: the first one, where there are several.
    """
    try:
        async with anyio.create_task_group() as tasks:
            for function in functions:
                tasks.start_soon(function)
            yield
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
