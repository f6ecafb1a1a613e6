"""The lifespan of a resource, of each kind of function."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from mqkit.resources.lifespan import begin

pytestmark = pytest.mark.anyio


class Said:
    """The functions, and what they say in which thread."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        self.lines.append(f"{line} {'on the loop' if is_main else 'in a thread'}")

    async def async_generator(self, n: int) -> AsyncIterator[int]:
        self.say("begin")
        try:
            yield n
        except ValueError as error:
            self.say(f"{error}")
            raise
        finally:
            await anyio.lowlevel.checkpoint()
            self.say("end")

    def generator(self, n: int) -> Iterator[int]:
        self.say("begin")
        try:
            yield n
        except ValueError as error:
            self.say(f"{error}")
            raise
        finally:
            self.say("end")

    async def coroutine(self, n: int) -> int:
        self.say("begin")
        return n

    def function(self, n: int) -> int:
        self.say("begin")
        return n

    async def __call__(self, n: int) -> int:
        return await self.coroutine(n)


@pytest.mark.parametrize(
    ("kind", "place", "ends"),
    [
        ("async_generator", "on the loop", True),
        ("generator", "in a thread", True),
        ("coroutine", "on the loop", False),
        ("__call__", "on the loop", False),
        ("function", "in a thread", False),
    ],
)
async def test_each_kind_is_begun_and_ended_in_its_place(kind: str, place: str, ends: bool) -> None:
    said = Said()
    function: Any = said if kind == "__call__" else getattr(said, kind)
    async with AsyncExitStack() as stack:
        assert await begin(stack, function, {"n": 7}) == 7
        assert said.lines == [f"begin {place}"]
    assert said.lines[1:] == ([f"end {place}"] if ends else [])


@pytest.mark.parametrize("kind", ["async_generator", "generator"])
async def test_an_error_is_raised_at_the_yield(kind: str) -> None:
    said = Said()
    with pytest.raises(ValueError, match="boom"):
        async with AsyncExitStack() as stack:
            await begin(stack, getattr(said, kind), {"n": 7})
            raise ValueError("boom")
    assert [line.split()[0] for line in said.lines] == ["begin", "boom", "end"]


async def test_a_class_is_called() -> None:
    class Session:
        async def __call__(self) -> None:
            raise AssertionError("not the object")

    async with AsyncExitStack() as stack:
        assert isinstance(await begin(stack, Session, {}), Session)


async def test_what_a_thread_makes_is_ended_though_its_caller_was_cancelled() -> None:
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    def slow() -> Iterator[None]:
        begun.set()
        go.wait(20)
        yield
        ended.set()

    async def use() -> None:
        async with AsyncExitStack() as stack:
            await begin(stack, slow, {})
            await anyio.lowlevel.checkpoint()
            raise AssertionError("it was cancelled")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(use)
        assert await anyio.to_thread.run_sync(begun.wait, 20)
        tasks.cancel_scope.cancel()
        go.set()
    assert begun.is_set()
    assert not ended.is_set()  # the cancel was raised at its yield
