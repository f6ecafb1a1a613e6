"""Possessions of this process: what is new is named, what was there is not."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from interop.chaos.application.leftovers import Possessions


@pytest.mark.anyio
async def test_nothing_new_is_nothing_left() -> None:
    before = Possessions.now()
    assert Possessions.now().left_since(before) == {"descriptors": [], "tasks": [], "threads": []}


@pytest.mark.anyio
async def test_an_open_file_a_task_and_a_thread_are_named(tmp_path: Path) -> None:
    before = Possessions.now()
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="left behind")
    thread.start()
    task = asyncio.create_task(asyncio.sleep(0), name="left behind too")
    with (tmp_path / "left").open("w"):
        left = Possessions.now().left_since(before)
    over.set()
    thread.join()
    await task
    assert [line.split()[1] for line in left["descriptors"]] == [str(tmp_path / "left")]
    assert left["threads"] == ["left behind"]
    (name,) = left["tasks"]
    assert "left behind too" in name
