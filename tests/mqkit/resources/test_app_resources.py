"""Resources of an app: made once, ended in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mqkit.errors import Closed
from mqkit.resources import AppResources, Dependency, Plan, Scope, depends

pytestmark = pytest.mark.anyio


class Made:
    """Two resources, of which the second needs the first."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.problem: Exception | None = None
        self.go = asyncio.Event()
        self.go.set()
        said = self.said

        async def engine() -> AsyncIterator[str]:
            said.append("engine")
            await self.go.wait()
            if self.problem is not None:
                raise self.problem
            task = asyncio.current_task()
            yield "engine"
            assert asyncio.current_task() is task  # an anyio task group in it would mind
            said.append("engine ends")

        async def client(engine: str = depends(engine, scope="app")) -> AsyncIterator[str]:
            yield f"client of {engine}"
            said.append("client ends")
            raise OSError("a goodbye that fails")

        def handle(c: str = depends(client, scope="app")) -> None: ...

        self.plan = Plan.read(handle, "handle")
        self.client = Dependency(client, Scope.APP)

    async def value(self, resources: AppResources) -> Any:
        return await resources.value(self.client, self.plan)


async def test_one_is_made_for_all_and_ended_before_what_it_needs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = Made()
    async with AppResources() as resources:
        assert made.said == []  # nobody needs it
        values = await asyncio.gather(*[made.value(resources) for _ in range(3)])
        assert values == ["client of engine"] * 3
    assert made.said == ["engine", "client ends", "engine ends"]
    assert "a goodbye that fails" in caplog.text


async def test_one_that_fails_is_made_again_for_the_next() -> None:
    made = Made()
    made.problem = OSError("no route")
    async with AppResources() as resources:
        for _ in range(2):
            with pytest.raises(OSError, match="no route"):
                await made.value(resources)
        made.problem = None
        assert await made.value(resources) == "client of engine"
    assert made.said[:3] == ["engine"] * 3


async def test_who_gives_up_waiting_does_not_stop_the_making() -> None:
    made = Made()
    made.go.clear()
    async with AppResources() as resources:
        waiting = asyncio.create_task(made.value(resources))
        for _ in range(10):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        made.go.set()
        assert await made.value(resources) == "client of engine"
    assert made.said.count("engine") == 1


async def test_an_app_that_is_entered_again_makes_them_again() -> None:
    made, resources = Made(), AppResources()
    for _ in range(2):
        async with resources:
            await made.value(resources)
        with pytest.raises(Closed):
            await made.value(resources)
    assert made.said.count("engine") == 2
