"""Resources around one call, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

from mqkit.errors import DeadlineExceeded
from mqkit.message import Delivery, Properties
from mqkit.resources import AppResources, CallResources, Plan, depends, lifespan

pytestmark = pytest.mark.anyio

DELIVERY = Delivery("", "q", b"", Properties(headers={"tenant": "a"}), 1, False)


class Said:
    """A session that says what becomes of it."""

    def __init__(self, *, swallows: bool = False, fails: bool = False) -> None:
        self.lines: list[str] = []
        lines = self.lines

        async def session(delivery: Delivery) -> AsyncIterator[str]:
            lines.append(f"begin {delivery.headers['tenant']}")
            try:
                yield "session"
                lines.append("commit")
            except BaseException as error:
                await anyio.lowlevel.checkpoint()  # which a cancelled task may not pass
                lines.append(f"roll back {type(error).__name__}")
                if not swallows:
                    raise
            finally:
                lines.append("end")
                if fails:
                    raise OSError("the connection is gone")

        def repository(session: str = depends(session)) -> str:
            return f"repository on {session}"

        def handle(s: str = depends(session), r: str = depends(repository)) -> None: ...

        self.resources = CallResources(Plan.read(handle, "handle"), AppResources())

    async def around(self, then: Callable[[], Any]) -> object:
        async def call(resources: dict[str, Any]) -> object:
            assert resources == {"s": "session", "r": "repository on session"}
            return await then()

        return await self.resources.around(call, DELIVERY)


async def seven() -> int:
    return 7


async def fails() -> None:
    raise ValueError("no")


async def test_one_session_for_all_that_need_it_and_its_end_after_the_call() -> None:
    said = Said()
    assert await said.around(seven) == 7
    assert said.lines == ["begin a", "commit", "end"]


@pytest.mark.parametrize("swallows", [False, True])
async def test_a_failure_is_one_whatever_the_resource_makes_of_it(swallows: bool) -> None:
    said = Said(swallows=swallows)
    with pytest.raises(ValueError, match="no"):
        await said.around(fails)
    assert said.lines == ["begin a", "roll back ValueError", "end"]


async def test_a_commit_that_fails_is_a_failure() -> None:
    with pytest.raises(OSError, match="the connection is gone"):
        await Said(fails=True).around(seven)


async def test_an_end_that_fails_does_not_hide_the_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(ValueError, match="no"):
        await Said(fails=True).around(fails)
    assert "a resource failed to end" in caplog.text


async def test_a_handler_that_is_cancelled_has_its_resources_ended() -> None:
    said = Said()
    with anyio.CancelScope() as scope:

        async def wait() -> None:
            scope.cancel()
            await asyncio.Event().wait()

        await said.around(wait)
    assert scope.cancelled_caught
    assert said.lines == ["begin a", "roll back CancelledError", "end"]


async def test_an_end_that_takes_for_ever_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stuck() -> AsyncIterator[None]:
        yield
        await asyncio.Event().wait()

    def handle(s: None = depends(stuck)) -> None: ...

    async def call(resources: dict[str, Any]) -> object:
        return 7

    assert lifespan.TEARDOWN_S > 1
    monkeypatch.setattr("mqkit.resources.call_resources.TEARDOWN_S", 0.01)
    resources = CallResources(Plan.read(handle, "handle"), AppResources())
    with pytest.raises(DeadlineExceeded, match="have not ended"):
        await resources.around(call, None)
