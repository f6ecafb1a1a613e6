"""The resources of an app: each made for the first call that needs it, all ended with the app.

Each lives in a task of its own, which makes it and ends it: a handler's timeout does not reach it,
and what it has in ``async with`` is left by who has entered it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Self

import anyio

from mqkit.errors import Closed
from mqkit.resources.dependency import Dependency
from mqkit.resources.lifespan import TEARDOWN_S, begin
from mqkit.resources.plan import Plan

_LOG = logging.getLogger(__name__)


class AppResources:
    """An async context manager, which an app enters each time that it is entered."""

    def __init__(self) -> None:
        self._kept: dict[Dependency, _Kept] = {}
        self._is_open = False

    async def __aenter__(self) -> Self:
        self._is_open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_open = False
        kept, self._kept = list(self._kept.values()), {}
        with anyio.CancelScope(shield=True):
            for resource in reversed(kept):
                await resource.end()

    async def value(self, dependency: Dependency, plan: Plan) -> Any:
        """The resource, made if it is not there. Raises what its function does; the next call tries
        again."""
        needs = plan.of[dependency].resources
        keywords = {name: await self.value(needed, plan) for name, needed in needs.items()}
        if not self._is_open:
            raise Closed("the resources of an app are there while it is entered")
        kept = self._kept.get(dependency)
        if kept is None or kept.has_failed:
            # The last to come is the first to go: what it needs is there for its end.
            self._kept.pop(dependency, None)
            kept = self._kept[dependency] = _Kept(dependency, keywords)
        return await kept.value()


class _Kept:
    """One resource, and the task that it lives in."""

    def __init__(self, dependency: Dependency, keywords: Mapping[str, Any]) -> None:
        self._dependency = dependency
        self._keywords = keywords
        self._made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._ending = asyncio.Event()
        self._task = asyncio.create_task(self._live())

    @property
    def has_failed(self) -> bool:
        """True if it could not be made, or has ended by itself."""
        return self._task.done()

    async def value(self) -> Any:
        return await asyncio.shield(self._made)

    async def end(self) -> None:
        """End it; what its function raises then is logged."""
        self._ending.set()
        with anyio.move_on_after(TEARDOWN_S):
            await asyncio.wait([self._task])
        if not self._task.done():
            _LOG.warning("%s has not ended in %g s", self._dependency.name, TEARDOWN_S)
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _live(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                value = await begin(stack, self._dependency.function, self._keywords)
                self._made.set_result(value)
                await self._ending.wait()
        except Exception as error:  # noqa: BLE001 - a resource is other people's code
            if self._made.done():
                _LOG.warning("%s failed to end", self._dependency.name, exc_info=error)
            else:
                self._made.set_exception(error)
                self._made.exception()  # seen, also where nobody waits for it any more
        finally:
            self._made.cancel()
