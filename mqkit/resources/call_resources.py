"""The resources of one call of a handler: made before it, ended after it, however it ended."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeAlias

import anyio

from mqkit.errors import DeadlineExceeded
from mqkit.message import Delivery
from mqkit.resources.app_resources import AppResources
from mqkit.resources.dependency import Dependency, Scope
from mqkit.resources.lifespan import TEARDOWN_S, begin
from mqkit.resources.plan import Needs, Plan

Call: TypeAlias = Callable[[dict[str, Any]], Awaitable[object]]
"""Calls the handler with its resources, by the names of its arguments."""

_LOG = logging.getLogger(__name__)


class CallResources:
    """Makes the resources of ``plan`` for each call; those of the app come from ``app``."""

    def __init__(self, plan: Plan, app: AppResources) -> None:
        self._plan = plan
        self._app = app

    async def around(self, call: Call, delivery: Delivery | None) -> object:
        """Call with the resources. Raises what the call does, or making and ending them.

        A call that has failed is a failure whatever its resources make of that; and one whose
        resources fail to end has failed.
        """
        stack = AsyncExitStack()
        made: dict[Dependency, Any] = {}
        try:
            result = await call(await self._keywords(self._plan.handler, made, stack, delivery))
        except BaseException as error:
            await self._end_after(error, stack)
            raise
        await self._end(stack)
        return result

    async def _keywords(
        self,
        needs: Needs,
        made: dict[Dependency, Any],
        stack: AsyncExitStack,
        delivery: Delivery | None,
    ) -> dict[str, Any]:
        keywords: dict[str, Any] = {}
        for name, needed in needs.resources.items():
            if needed.scope is Scope.APP:
                keywords[name] = await self._app.value(needed, self._plan)
                continue
            if needed not in made:
                own = await self._keywords(self._plan.of[needed], made, stack, delivery)
                made[needed] = await begin(stack, needed.function, own)
            keywords[name] = made[needed]
        if needs.delivery is not None:
            keywords[needs.delivery] = delivery
        return keywords

    async def _end(self, stack: AsyncExitStack) -> None:
        # Shielded: who is cancelled at this moment must not leave a session open.
        with anyio.move_on_after(TEARDOWN_S, shield=True) as scope:
            await stack.aclose()
        if scope.cancelled_caught:
            raise DeadlineExceeded(f"the resources of a handler have not ended in {TEARDOWN_S:g} s")

    async def _end_after(self, error: BaseException, stack: AsyncExitStack) -> None:
        try:
            with anyio.move_on_after(TEARDOWN_S, shield=True):
                await stack.__aexit__(type(error), error, error.__traceback__)
        except Exception as other:  # noqa: BLE001 - a resource is other people's code
            if other is not error:
                _LOG.warning("a resource failed to end after %r", error, exc_info=other)
